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
	// whole reports whether all pages of the mapping are identical to the file: the mapping is not writable, and no page was
	// written before it became read-only. The dynamic linker writes such pages.
	whole bool
}

// ReleaseCode releases the pages of this program's file. Most of them contain code that ran once, at the start. Code that still
// runs is mapped again from the page cache when it is used.
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

// mappings returns the mappings of a file in /proc/self/smaps. In that file, each mapping begins with a line of range,
// permissions, offset, device, inode and path. Lines with a name and a number follow. Anonymous counts pages that are no longer
// identical to the file.
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
