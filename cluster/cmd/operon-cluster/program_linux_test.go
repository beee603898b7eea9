package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"k8s.io/klog/v2"

	_ "github.com/operon-framework/operon/cluster/internal/node/multicall" // makes the test binary several programs
	"github.com/operon-framework/operon/cluster/internal/node/nodeinit"
	"github.com/operon-framework/operon/cluster/internal/node/supervisor"
)

// The test binary is also operon-node, so that the tests do not depend on what was built before.
func init() {
	if len(os.Args) == 3 && os.Args[1] == nodeinit.Verb {
		klog.InitFlags(flag.NewFlagSet("klog", flag.ContinueOnError))
		if err := supervisor.Main(context.Background(), os.Args[2]); err != nil {
			fmt.Fprintf(os.Stderr, "node: %v\n", err)
			os.Exit(exitFailed)
		}
		os.Exit(0)
	}
	if _, set := os.LookupEnv("OPERON_NODE_BINARY"); set {
		return
	}
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	if err := os.Setenv("OPERON_NODE_BINARY", self); err != nil {
		panic(err)
	}
}
