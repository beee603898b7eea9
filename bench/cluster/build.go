package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/operon-framework/operon/bench/internal/report"
)

// binaries are what is measured, each built by go build with the same flags.
type binaries struct {
	kubeAPIServer, etcd   string
	operonCluster, operon string
}

// build builds everything into dir. The first time takes minutes: it is a whole Kubernetes.
func build(ctx context.Context, dir string) (binaries, error) {
	bin := filepath.Join(dir, "bin") + string(filepath.Separator)
	began := time.Now()
	for _, b := range []struct{ module, target string }{
		{"bench/peers", "tool"},
		{"cluster", "./cmd/operon-cluster"},
		{".", "./cmd/operon"},
	} {
		progress("build %s in %s", b.target, b.module)
		if err := report.Build(ctx, b.module, b.target, bin); err != nil {
			return binaries{}, err
		}
	}
	progress("built in %s", report.Seconds(time.Since(began)))
	return binaries{
		kubeAPIServer: bin + "kube-apiserver",
		etcd:          bin + "server", // etcd's main package is called so
		operonCluster: bin + "operon-cluster",
		operon:        bin + "operon",
	}, nil
}

// cluster runs operon-cluster and returns what it printed.
func (b *bench) cluster(ctx context.Context, args ...string) ([]byte, error) {
	return b.command(ctx, b.binaries.operonCluster, args...)
}

func (b *bench) command(ctx context.Context, name string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Env = append(os.Environ(), "OPERON_HOME="+b.home, "OPERON_CLUSTER_BINARY="+b.binaries.operonCluster)
	var errs strings.Builder
	command.Stderr = &errs
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, errs.String())
	}
	return out, nil
}
