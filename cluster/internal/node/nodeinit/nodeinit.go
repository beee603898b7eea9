// Package nodeinit is the init process of a node. It sets up the node's own view of the file system, starts the programs of the
// node, and ends when the cluster's process ends in any way.
//
// When the init process of a PID namespace ends, the kernel kills all processes in the namespace. With the last of them, the
// mounts, links, addresses and rules of their namespaces are removed. Therefore only the control groups of a node have to be
// found and removed.
package nodeinit

const (
	// Name is the name of the program when it runs as the init process.
	Name = "operon-node-init"
	// Verb is the hidden command with which it starts the node's programs.
	Verb = "node"
)
