package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"k8s.io/klog/v2"

	_ "github.com/operon-framework/operon/cluster/internal/node/multicall" // makes this binary several programs
	"github.com/operon-framework/operon/cluster/internal/node/supervisor"
)

// runNode runs the node of the given directory until its parent process stops it.
func runNode(dir string) int {
	klog.InitFlags(flag.NewFlagSet("klog", flag.ContinueOnError))
	if err := supervisor.Main(context.Background(), dir); err != nil {
		fmt.Fprintf(os.Stderr, "node: %v\n", err)
		return exitFailed
	}
	return 0
}
