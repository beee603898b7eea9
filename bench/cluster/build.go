package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/operon-framework/operon/bench/internal/cluster"
	"github.com/operon-framework/operon/bench/internal/report"
)

// The names of the peer's binaries. The main package of etcd is named server.
const kubeAPIServer, etcd = "kube-apiserver", "server"

// build builds everything with go build and the same flags. The first build takes minutes because it is a complete Kubernetes.
func build(ctx context.Context, home cluster.Home) error {
	began := time.Now()
	for _, b := range []struct{ module, target string }{
		{"bench/peers", "tool"},
		{"cluster", "./cmd/operon-cluster"},
		{".", "./cmd/operon"},
	} {
		progress("build %s in %s", b.target, b.module)
		if err := report.Build(ctx, b.module, b.target, home.Path()+string(filepath.Separator)); err != nil {
			return err
		}
	}
	progress("built in %s", report.Seconds(time.Since(began)))
	return nil
}

// cluster runs operon-cluster.
func (b *bench) cluster(ctx context.Context, args ...string) error {
	_, err := b.home.Run(ctx, "operon-cluster", args...)
	return err
}
