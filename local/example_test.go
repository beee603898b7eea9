package local_test

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/local"
)

// Start a cluster with three simulated nodes, unless it is already running, and list its nodes. It stops automatically
// after an hour without use.
func ExampleUp() {
	ctx := context.Background()
	cluster, err := local.Up(ctx, local.Options{Name: "demo", Nodes: 3, TTL: time.Hour, Progress: os.Stderr})
	if err != nil {
		panic(err)
	}
	config, err := cluster.RESTConfig()
	if err != nil {
		panic(err)
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		panic(err)
	}
	var nodes corev1.NodeList
	if err := c.List(ctx, &nodes); err != nil {
		panic(err)
	}
	fmt.Printf("export KUBECONFIG=%s # %d nodes\n", cluster.Kubeconfig, len(nodes.Items))
}

// Stop all local clusters that do not retain data.
func ExampleDown() {
	ctx := context.Background()
	clusters, err := local.List(ctx)
	if err != nil {
		panic(err)
	}
	for _, cluster := range clusters {
		if cluster.Data != "" {
			continue
		}
		if err := local.Down(ctx, cluster.Name); err != nil {
			panic(err)
		}
	}
}
