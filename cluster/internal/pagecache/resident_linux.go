package pagecache

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
	// whole tells that every page of it is as in the file: it may not be written, and no
	// page was, as those are that the dynamic linker fills in before it protects them.
	whole bool
}

// ReleaseCode lets go of the pages of this program's file. Most of them hold what ran once,
// at the start; what still runs comes back from the page cache as it is touched.
func ReleaseCode() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	mapped, err := mappings(program)
	if err != nil {
		return err
	}
	for _, m := range mapped {
		if !m.whole {
			continue
		}
		if _, _, failed := unix.Syscall(unix.SYS_MADVISE, m.begin, m.end-m.begin, unix.MADV_DONTNEED); failed != 0 {
			return fmt.Errorf("madvise: %w", failed)
		}
	}
	return nil
}

// mappings reads from /proc/self/smaps where file is mapped. There, a line of range,
// permissions, offset, device, inode and path begins each mapping, and lines with a name and
// a number follow; Anonymous counts pages that are no longer the file's.
func mappings(file string) ([]mapping, error) {
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return nil, err
	}
	defer smaps.Close()
	var found []mapping
	ours := false
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		var m mapping
		if _, err := fmt.Sscanf(fields[0], "%x-%x", &m.begin, &m.end); err == nil {
			const permissions, path = 1, 5
			if ours = len(fields) > path && fields[path] == file; ours {
				m.whole = !strings.Contains(fields[permissions], "w")
				found = append(found, m)
			}
			continue
		}
		if ours && fields[0] == "Anonymous:" && fields[1] != "0" {
			found[len(found)-1].whole = false
		}
	}
	return found, lines.Err()
}
