// Package controlplane runs a real Kubernetes control plane in this process: etcd, kube-apiserver, kube-controller-manager and
// kube-scheduler, from the same modules as the released binaries.
//
// This package alone runs a plain cluster. An Extension changes it: package fast starts it in a third of the time, package
// reset returns it to its initial state, and package slow, with -tags slow, delays its responses.
//
// One process can run only one control plane: the components store feature gates, metrics and their scheme in package
// variables.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/operon-framework/operon/cluster/internal/controlplane/storage"
	"github.com/operon-framework/operon/cluster/internal/kubeversion"
	"github.com/operon-framework/operon/cluster/internal/pki"
)

func init() {
	// Each component applies the same logging settings. Applying them again is not an error.
	logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged
	utilruntime.Must(kubeversion.Set())
}

// ControlPlane is a running control plane.
type ControlPlane struct {
	cfg      Config
	keys     *keys
	store    *store
	server   string
	admin    *rest.Config
	added    extensions
	listener *listeners // the API server's

	cancel context.CancelFunc
	group  sync.WaitGroup
	mu     sync.Mutex
	failed error
}

// Start starts a control plane and returns when its API server is ready and its controllers work: the default ServiceAccount
// exists. The control plane runs until ctx ends. Wait returns when everything has stopped.
func Start(ctx context.Context, cfg Config, added ...Extension) (*ControlPlane, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, err
	}
	k, err := openKeys(cfg.keysDir(), cfg.Hosts)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	listener, err := cfg.listen()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	cp := &ControlPlane{cfg: cfg, keys: k, added: added, cancel: cancel, server: "https://" + listener.Addr().String(), listener: newListeners(listener)}
	cp.admin = k.config(cp.server, k.admin)
	if err := cp.start(ctx); err != nil {
		cancel()
		err = errors.Join(err, cp.Wait())
		cp.listener.Close() // not earlier: the API server panics if its listener is closed while it serves
		return nil, err
	}
	return cp, nil
}

func (cp *ControlPlane) start(ctx context.Context) error {
	kubeconfigs, err := cp.writeKubeconfigs()
	if err != nil {
		return err
	}
	server, err := cp.prepare(ctx)
	if err != nil {
		return err
	}
	cp.run(ctx, server.run)
	// The controller manager checks this, too, and waits a second if the check fails.
	if err := cp.awaitOK(ctx, "/healthz"); err != nil {
		return err
	}
	cp.run(ctx, func(ctx context.Context) error {
		return runControllerManager(ctx, &cp.cfg, cp.keys, kubeconfigs.controllerManager, cp.added)
	})
	cp.run(ctx, func(ctx context.Context) error { return runScheduler(ctx, &cp.cfg, kubeconfigs.scheduler, cp.added) })
	return cp.awaitReady(ctx)
}

// prepare starts etcd and builds the API server at the same time.
func (cp *ControlPlane) prepare(ctx context.Context) (*APIServer, error) {
	stored := make(chan error, 1)
	var opening sync.WaitGroup
	defer opening.Wait() // the caller closes what was opened if this fails
	opening.Go(func() { stored <- cp.openStore(ctx) })
	socket := filepath.Join(cp.cfg.Dir, "etcd.sock")
	return newAPIServer(ctx, &cp.cfg, cp.keys, socket, cp.listener, cp.added, stored)
}

func (cp *ControlPlane) openStore(ctx context.Context) error {
	var err error
	if cp.store, err = startStore(ctx, &cp.cfg, cp.added); err != nil {
		return err
	}
	fresh, err := storage.Empty(ctx, cp.store.client)
	if err != nil {
		return err
	}
	if err := cp.added.stored(ctx, cp.store.client, fresh); err != nil {
		return err
	}
	return announceMetrics(ctx, cp.store.client)
}

type kubeconfigs struct{ controllerManager, scheduler string }

// writeKubeconfigs writes one kubeconfig for each component. They differ in the user name, which the audit log and
// managedFields show. All users have full permissions, because the components share one process.
func (cp *ControlPlane) writeKubeconfigs() (kubeconfigs, error) {
	paths := kubeconfigs{
		controllerManager: filepath.Join(cp.cfg.Dir, "controller-manager.kubeconfig"),
		scheduler:         filepath.Join(cp.cfg.Dir, "scheduler.kubeconfig"),
	}
	for path, user := range map[string]string{
		paths.controllerManager: "system:kube-controller-manager",
		paths.scheduler:         "system:kube-scheduler",
	} {
		pair, err := cp.keys.ca.Issue(pki.Leaf{CommonName: user, Organizations: []string{"system:masters"}})
		if err != nil {
			return kubeconfigs{}, err
		}
		if err := cp.keys.writeKubeconfig(path, "operon", cp.server, pair); err != nil {
			return kubeconfigs{}, err
		}
	}
	return paths, nil
}

// run runs a component. When one component fails, all others are stopped.
func (cp *ControlPlane) run(ctx context.Context, component func(context.Context) error) {
	cp.group.Go(func() {
		if err := component(ctx); err != nil && ctx.Err() == nil {
			cp.fail(err)
		}
	})
}

func (cp *ControlPlane) fail(err error) {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	if cp.failed == nil {
		cp.failed = err
	}
	cp.cancel()
}

// Wait returns when every component has ended. It returns nil if the context of Start ended, otherwise the error of the first
// component that failed.
func (cp *ControlPlane) Wait() error {
	cp.group.Wait()
	cp.cancel()
	if cp.store != nil {
		cp.store.close()
	}
	cp.mu.Lock()
	defer cp.mu.Unlock()
	return cp.failed
}
