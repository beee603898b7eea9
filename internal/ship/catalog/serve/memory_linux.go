package serve

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// mapping is a part of the address space.
type mapping struct {
	begin, end uintptr
	// pristine reports whether all pages are those of the file, so that the kernel can read them again.
	pristine bool
}

// releaseCode releases the pages of this program's file. Code that still runs is mapped again when it is used.
func releaseCode() error {
	mapped, err := programMappings()
	if err != nil {
		return err
	}
	for _, m := range mapped {
		if !m.pristine {
			continue
		}
		if _, _, failed := unix.Syscall(unix.SYS_MADVISE, m.begin, m.end-m.begin, unix.MADV_DONTNEED); failed != 0 {
			return fmt.Errorf("madvise: %w", failed)
		}
	}
	return nil
}

// programMappings reads /proc/self/smaps: a line with range, permissions, offset, device, inode and path for each mapping, and then lines with
// figures. Pages that are counted as anonymous were written, also in mappings that are read-only by now.
func programMappings() ([]mapping, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return nil, err
	}
	defer smaps.Close()
	var found []mapping
	ours := false
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		var m mapping
		var permissions, offset, device, inode string
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x %s %s %s %s", &m.begin, &m.end, &permissions, &offset, &device, &inode); n == 6 {
			if ours = strings.HasSuffix(lines.Text(), " "+program); ours {
				m.pristine = !strings.Contains(permissions, "w")
				found = append(found, m)
			}
			continue
		}
		name, figure, _ := strings.Cut(lines.Text(), ":")
		if ours && name == "Anonymous" && strings.TrimSpace(figure) != "0 kB" {
			found[len(found)-1].pristine = false
		}
	}
	return found, nil
}
