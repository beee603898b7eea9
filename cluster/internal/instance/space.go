package instance

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// minSpace is the disk space of an empty cluster in bytes: etcd preallocates 64 MB for its log and exits if it cannot. The
// database and the logs of the components need additional space.
const minSpace = 100_000_000

// checkSpace returns an error if the directory does not have enough space for the state of a cluster.
func checkSpace(folder string) error {
	var stat unix.Statfs_t
	if err := unix.Statfs(folder, &stat); err != nil {
		return fmt.Errorf("%s: %w", folder, err)
	}
	if free := stat.Bavail * uint64(stat.Bsize); free < minSpace {
		return fmt.Errorf("%s has %d MB of free space, but a cluster needs %d MB; free some space, or use another directory with OPERON_HOME or --data",
			folder, free/1_000_000, minSpace/1_000_000)
	}
	return nil
}
