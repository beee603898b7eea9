// Package supervisor runs the components of a node: containerd, kubelet, kube-proxy and CoreDNS, as goroutines of one process
// in its own namespaces. Package node starts the process from outside, and package nodeinit is its parent.
package supervisor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"

	"github.com/operon-framework/operon/cluster/internal/kubeversion"
	"github.com/operon-framework/operon/cluster/internal/node/settings"
)

// File descriptors that the process inherits.
const (
	ordersFD = 3
	reportFD = 4
)

// garbagePercent is the garbage collector's target: the live memory of containerd and the kubelet is small compared to the data
// that they read.
const garbagePercent = 50

// Main is the main function of the node's process.
func Main(ctx context.Context, dir string) error {
	debug.SetGCPercent(garbagePercent)
	unix.CloseOnExec(ordersFD)
	unix.CloseOnExec(reportFD)
	report := os.NewFile(reportFD, "report")
	err := run(ctx, settings.Dir(dir), report)
	if err == nil {
		return nil
	}
	// If the reader of the report has ended, the error is only in the log.
	return errors.Join(err, json.NewEncoder(report).Encode(settings.Report{Error: err.Error()}))
}

func run(ctx context.Context, dir settings.Dir, report *os.File) error {
	s, err := dir.Read()
	if err != nil {
		return err
	}
	if err := prepare(); err != nil {
		return err
	}
	if s.Egress {
		if err := openWayOut(); err != nil {
			return fmt.Errorf("egress: %w", err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := writeResolver(dir); err != nil {
		return err
	}
	kept, err := keepWatches(ctx)
	if err != nil {
		return err
	}
	if err := kept.give(watchesOfContainerd); err != nil {
		return err
	}
	if err := startContainerd(ctx, dir, s); err != nil {
		return fmt.Errorf("containerd: %w", err)
	}
	if err := json.NewEncoder(report).Encode(settings.Report{}); err != nil {
		return err
	}
	var order settings.Order
	orders := os.NewFile(ordersFD, "orders")
	if err := json.NewDecoder(orders).Decode(&order); errors.Is(err, io.EOF) {
		return nil // the node is stopped before it has joined
	} else if err != nil {
		return fmt.Errorf("wait for the cluster: %w", err)
	}
	if err := kept.give(watchesOfOthers); err != nil {
		return err
	}
	return join(ctx, dir, s, orders)
}

// prepare sets up the environment of a node for this process.
func prepare() error {
	if err := kubeversion.Set(); err != nil {
		return err
	}
	// Each component applies the same logging settings. Applying them again is not an error.
	logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged
	if err := enterCgroups(); err != nil {
		return fmt.Errorf("control groups: %w", err)
	}
	if err := keepTunables(); err != nil {
		return fmt.Errorf("kernel settings: %w", err)
	}
	if err := startNetwork(); err != nil {
		return fmt.Errorf("network: %w", err)
	}
	return nil
}

// errEnded means that a component ended without an error, which ends the node.
var errEnded = errors.New("it ended by itself")

// join runs the components that need the API server until one of them or ctx ends. The end of orders ends the kubelet.
func join(ctx context.Context, dir settings.Dir, s settings.Settings, orders io.Reader) error {
	ordered, stop := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, orders) // there are no further ones
		stop()
	}()
	ended := make(chan error)
	for name, component := range map[string]func(context.Context, settings.Dir, settings.Settings) error{
		"kubelet":    func(_ context.Context, d settings.Dir, s settings.Settings) error { return runKubelet(ordered, d, s) },
		"kube-proxy": runProxy,
		"CoreDNS":    runDNS,
	} {
		go func() {
			err := component(ctx, dir, s)
			if err == nil && ordered.Err() != nil {
				ended <- nil
				return
			}
			err = cmp.Or(err, errEnded)
			klog.ErrorS(err, "A component of the node ended", "component", name)
			ended <- fmt.Errorf("%s: %w", name, err)
		}()
	}
	go giveBackMemory(ctx)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return nil
	}
}
