package node

import "os"

// nodeWeight is the share of processor time that a node with all its pods has while the processors are busy, as a multiple of the kernel's default
// for a group. The group of all nodes competes with the sessions of users, each of which has the default share if the kernel groups processes by
// session (man 7 sched). Without a weight, all nodes together have the share of one terminal, and pods do not start while a few compilers run.
const nodeWeight = 2

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
	weight := nodeWeight * max(nodes, 1)
	return setKnown(parent, map[string]uint64{
		"cpu.weight": min(100*weight, 10_000),   // version 2: the default is 100
		"cpu.shares": min(1024*weight, 1024<<8), // version 1: the default is 1024
	})
}
