// Package planetest supports tests of control planes. It starts the only control plane of a process before the tests of a
// binary, stops it after them, and waits for effects of controllers.
package planetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
)

// Run runs the tests of a binary with the control plane that start starts, and returns the exit code. A control plane that
// leaves its socket behind is an error.
func Run(m *testing.M, start func(context.Context, controlplane.Config) (*controlplane.ControlPlane, error)) int {
	code, err := run(m, start)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func run(m *testing.M, start func(context.Context, controlplane.Config) (*controlplane.ControlPlane, error)) (int, error) {
	dir, err := os.MkdirTemp("", "cp") // the path of a test's temporary directory is too long for a socket
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	plane, err := start(ctx, controlplane.Config{Dir: dir})
	if err != nil {
		return 1, err
	}
	code := m.Run()
	klog.SetLogger(logr.Discard()) // a hundred log lines about the shutdown would hide why a test failed
	cancel()
	if err := plane.Wait(); err != nil {
		return 1, err
	}
	if _, err := os.Stat(filepath.Join(dir, "etcd.sock")); err == nil {
		return 1, errors.New("the socket of etcd still exists")
	}
	return code, nil
}

// patience is how long tests wait for effects that usually take milliseconds, on a machine that is busy with other tests.
const patience = 3 * time.Minute

// Eventually fails the test unless check returns true before the timeout.
func Eventually(t *testing.T, what string, check func(context.Context) (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		ok, err := check(ctx)
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("timed out waiting: %s; last error: %v", what, err)
		case <-ticker.C:
		}
	}
}
