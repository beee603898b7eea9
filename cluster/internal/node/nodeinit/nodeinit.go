// Package nodeinit is the init process of a node: it gives the node a view of the file system of its own, starts what
// the node consists of, and ends when the cluster's process does, in whatever way.
//
// The kernel ends every process of a process namespace with its number 1, and with the last
// of them go the mounts, links, addresses and rules of the namespaces that they were in. So
// nothing of a node has to be found and removed but its control groups.
package nodeinit

const (
	// Name is what the program has to be called to be number 1.
	Name = "operon-node-init"
	// Verb is the hidden verb that it starts the node's programs by.
	Verb = "node"
)
