// Command operon-node runs the node of a local cluster that runs containers: a kubelet, containerd, kube-proxy and CoreDNS in one process. The
// command operon-cluster starts it.
//
// It is a program of its own because most clusters have simulated nodes only: what such a cluster needs is compiled, mapped and
// initialized without it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"k8s.io/klog/v2"

	_ "github.com/operon-framework/operon/cluster/internal/node/multicall" // makes this binary several programs
	"github.com/operon-framework/operon/cluster/internal/node/nodeinit"
	"github.com/operon-framework/operon/cluster/internal/node/supervisor"
)

func main() {
	if len(os.Args) != 3 || os.Args[1] != nodeinit.Verb {
		fmt.Fprintln(os.Stderr, "operon-node is started by operon-cluster: run `operon cluster up --node container`")
		os.Exit(2)
	}
	klog.InitFlags(flag.NewFlagSet("klog", flag.ContinueOnError))
	if err := supervisor.Main(context.Background(), os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "node: %v\n", err)
		os.Exit(2)
	}
}
