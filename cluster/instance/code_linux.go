package instance

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// releaseCode lets go of the pages of this program's file. Most of them hold what ran once,
// at the start; what still runs comes back from the page cache as it is touched.
func releaseCode() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(maps)) {
		if err := releaseMapping(line, program); err != nil {
			return err
		}
	}
	return nil
}

// releaseMapping takes a line of /proc/self/maps: range, permissions, offset, device, inode
// and path. Pages that may be written are the process's own and have no copy in the file.
func releaseMapping(line, program string) error {
	fields := strings.Fields(line)
	const permissions, path = 1, 5
	if len(fields) <= path || fields[path] != program || strings.Contains(fields[permissions], "w") {
		return nil
	}
	var begin, end uintptr
	if _, err := fmt.Sscanf(fields[0], "%x-%x", &begin, &end); err != nil {
		return fmt.Errorf("/proc/self/maps: %q: %w", line, err)
	}
	_, _, failed := unix.Syscall(unix.SYS_MADVISE, begin, end-begin, unix.MADV_DONTNEED)
	if failed != 0 {
		return fmt.Errorf("madvise: %w", failed)
	}
	return nil
}
