//go:build !linux

// Command operon-node runs the node of a local cluster that runs containers, on Linux.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "operon-node: containers need Linux")
	os.Exit(2)
}
