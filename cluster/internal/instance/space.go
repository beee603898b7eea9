package instance

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// minSpace is what an empty cluster takes on disk, in bytes: etcd allots 64 MB for its log
// ahead and dies where it cannot, and the database and the components' log come on top.
const minSpace = 100_000_000

// checkSpace fails where a cluster's state would not fit into directory.
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
