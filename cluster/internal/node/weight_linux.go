package node

import "os"

// The shares of processor time that a node with all its pods has while the processors are busy. The kernel's defaults for a group are 100 in
// version 2, and 1024 in version 1.
//
// With version 1, programs usually are in the root group, where the kernel groups them by session (man 7 sched), and each session has the default
// share. Without a share for each node, all nodes together have that of one terminal, and pods do not start while a few compilers run. With version 2,
// systemd has a group for all sessions together: more than twice its share would starve the API servers of the nodes. The limits bound what groups that
// killed clusters left add.
const (
	nodeWeight, maxWeight = 200, 400
	nodeShares, maxShares = 2 << 10, 16 << 10
)

// weighNodes gives the group of all nodes its share of processor time. The caller holds the lock of the hierarchy.
func weighNodes(parent string) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return err
	}
	nodes := uint64(0)
	for _, entry := range entries {
		if entry.IsDir() {
			nodes++
		}
	}
	return setKnown(parent, map[string]uint64{
		"cpu.weight": min(max(nodes, 1)*nodeWeight, maxWeight),
		"cpu.shares": min(max(nodes, 1)*nodeShares, maxShares),
	})
}
