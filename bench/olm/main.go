// Command olm measures the lifecycle manager in a cluster with many namespaces: the time to install operators, its memory, and its requests
// while nothing changes.
//
//	go run ./olm --namespaces 10000
//
// Five operators work in all namespaces. They come from a catalog with 1,000 other bundles, in images on loopback, and their pods are simulated.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon/bench/internal/cluster"
	"github.com/operon-framework/operon/bench/internal/report"
)

// memoryGoal is the resident memory that the manager may have, in bytes.
const memoryGoal = 200_000_000

// auditPolicy records the requests of the manager.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
omitManagedFields: true
rules:
  - level: None
    users: ["system:kube-controller-manager", "system:kube-scheduler", "system:simulated-nodes", "system:apiserver"]
  - level: Metadata
`

// settings are the flags.
type settings struct {
	namespaces, operators, bundles int
	idle                           time.Duration
}

func main() {
	ctrl.SetLogger(logr.Discard())
	report.Main(run)
}

func run(ctx context.Context) (err error) {
	var s settings
	flag.IntVar(&s.namespaces, "namespaces", 10_000, "namespaces in the cluster")
	flag.IntVar(&s.operators, "operators", 5, "operators for all namespaces")
	flag.IntVar(&s.bundles, "bundles", 1_000, "other bundles in the catalog")
	flag.DurationVar(&s.idle, "idle", time.Minute, "how long requests are counted while nothing changes")
	flag.Parse()
	root, err := report.Repository(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-olm-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary := filepath.Join(dir, managerName)
	if err := report.Build(ctx, "olm", ".", binary); err != nil {
		return err
	}
	c, err := cluster.Start(ctx, cluster.Options{Name: "bench-olm", AuditPolicy: auditPolicy})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	w := &world{Cluster: c, settings: s}
	if err := w.prepare(ctx, filepath.Join(root, "olm", "config", "crd")); err != nil {
		return err
	}
	port, err := w.reach(ctx)
	if err != nil {
		return err
	}
	manager := exec.Command(binary, "--metrics-bind-address", "0", "--health-probe-bind-address", "0",
		"--webhook-bind-address", net.JoinHostPort("127.0.0.1", port), "--webhook-service", service, "--webhook-service-port", port)
	manager.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig, "OLM_CACHE_DIR="+filepath.Join(dir, "cache"), "POD_NAMESPACE="+catalogs)
	log, err := os.Create(filepath.Join(dir, "manager.log"))
	if err != nil {
		return err
	}
	manager.Stderr = log
	if err := manager.Start(); err != nil {
		return err
	}
	figures, err := w.measure(ctx, manager.Process.Pid)
	err = errors.Join(err, manager.Process.Signal(syscall.SIGTERM), manager.Wait(), log.Close())
	if err != nil {
		text, _ := os.ReadFile(log.Name()) // beside the error
		return fmt.Errorf("%w\n%s", err, text[max(0, len(text)-4000):])
	}
	return report.Write(os.Stdout, "–", figures)
}
