// Package controlplane runs a real Kubernetes control plane in this process: etcd,
// kube-apiserver, kube-controller-manager and kube-scheduler, from the modules that the
// released binaries are built from.
//
// A start takes about a second instead of three because nothing waits that need not: etcd
// elects itself within 50 ms, keys are ECDSA, the bootstrap policy is in etcd before the
// API server looks for it, and building the API server, starting etcd and making keys
// happen side by side.
//
// One process holds one control plane: the components keep feature gates, metrics and
// their scheme in package variables.
package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/operon-framework/operon/cluster/internal/kubeversion"
	"github.com/operon-framework/operon/cluster/internal/pki"
)

func init() {
	// Each component applies the same logging settings; the second time is no error.
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
	first    firstState
	writes   gate
	orphans  *orphans
	listener *listeners // the API server's
	api      *apiServer

	cancel context.CancelFunc
	group  sync.WaitGroup
	mu     sync.Mutex
	failed error
}

// Option changes what Start does beyond its Config.
type Option func(*starter)

// WithMiddleware puts a handler before the API server's own, authentication included.
func WithMiddleware(wrap func(http.Handler) http.Handler) Option {
	return func(s *starter) { s.wrap = wrap }
}

type starter struct {
	wrap func(http.Handler) http.Handler
}

// Start starts a control plane and returns when its API server is ready and its
// controllers work: the default ServiceAccount exists. It runs until ctx ends; Wait
// returns when everything is gone.
func Start(ctx context.Context, cfg Config, options ...Option) (*ControlPlane, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, err
	}
	var s starter
	for _, option := range options {
		option(&s)
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
	cp := &ControlPlane{cfg: cfg, keys: k, cancel: cancel, server: "https://" + listener.Addr().String(), listener: newListeners(listener), orphans: newOrphans()}
	cp.admin = k.config(cp.server, k.admin)
	if err := cp.start(ctx, s, cp.listener); err != nil {
		cancel()
		cp.listener.Close()
		return nil, errors.Join(err, cp.Wait())
	}
	return cp, nil
}

func (cp *ControlPlane) start(ctx context.Context, s starter, listener net.Listener) error {
	kubeconfigs, err := cp.writeKubeconfigs()
	if err != nil {
		return err
	}
	if cp.api, err = cp.prepare(ctx, s, listener); err != nil {
		return err
	}
	cp.run(ctx, cp.api.run)
	// The controller manager asks for this too, and waits a second when the answer is no.
	if err := cp.awaitOK(ctx, "/healthz"); err != nil {
		return err
	}
	cp.run(ctx, func(ctx context.Context) error {
		return runControllerManager(ctx, &cp.cfg, cp.keys, kubeconfigs.controllerManager, cp.knownStore())
	})
	cp.run(ctx, func(ctx context.Context) error { return runScheduler(ctx, &cp.cfg, kubeconfigs.scheduler) })
	return cp.awaitReady(ctx)
}

// prepare starts etcd, fills it where it is new, and builds the API server meanwhile.
func (cp *ControlPlane) prepare(ctx context.Context, s starter, listener net.Listener) (*apiServer, error) {
	stored := make(chan error, 1)
	var opening sync.WaitGroup
	defer opening.Wait() // what it opens is closed where this fails
	opening.Go(func() { stored <- cp.openStore(ctx) })
	socket := filepath.Join(cp.cfg.Dir, "etcd.sock")
	return newAPIServer(ctx, &cp.cfg, cp.keys, socket, listener, around{cp.wrap(s), cp.orphans}, stored)
}

// wrap puts the caller's handler, if any, and the gate for writes before the API server.
func (cp *ControlPlane) wrap(s starter) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		next = cp.writes.wrap(next)
		if s.wrap != nil {
			next = s.wrap(next)
		}
		return slow(next)
	}
}

func (cp *ControlPlane) openStore(ctx context.Context) error {
	var err error
	if cp.store, err = startStore(ctx, &cp.cfg); err != nil {
		return err
	}
	empty, err := cp.store.empty(ctx)
	if err != nil {
		return err
	}
	if empty {
		if err := seed(ctx, cp.store.client); err != nil {
			return err
		}
	}
	return announceMetrics(ctx, cp.store.client)
}

// knownStore is the store, where all of the API server's objects lie in it under the keys that they have by default.
func (cp *ControlPlane) knownStore() *store {
	for flag := range cp.cfg.APIServer {
		if strings.HasPrefix(flag, "etcd-") {
			return nil
		}
	}
	return cp.store
}

type kubeconfigs struct{ controllerManager, scheduler string }

// writeKubeconfigs writes one for each component. They differ in the user name that the
// audit log and managedFields show; all are trusted fully, as the processes are one.
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

// run runs a component; the first that fails ends the others.
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

// Wait returns when every component has ended: nil after the context of Start ended, else
// what the first component died of.
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

// Server is the URL of the API server.
func (cp *ControlPlane) Server() string { return cp.server }

// AdminConfig returns a client configuration with every right.
func (cp *ControlPlane) AdminConfig() *rest.Config { return rest.CopyConfig(cp.admin) }

// WriteKubeconfig writes a kubeconfig with every right to path, mode 0600. Its cluster,
// user and context are called name.
func (cp *ControlPlane) WriteKubeconfig(path, name string) error {
	return cp.keys.writeKubeconfig(path, name, cp.server, cp.keys.admin)
}

// SystemConfig returns a client configuration with every right whose user name is
// "system:" and name, for a component beside the control plane's own.
func (cp *ControlPlane) SystemConfig(name string) (*rest.Config, error) {
	pair, err := cp.keys.ca.Issue(pki.Leaf{CommonName: SystemPrefix + name, Organizations: []string{"system:masters"}})
	if err != nil {
		return nil, err
	}
	return cp.keys.config(cp.server, pair), nil
}

// SystemPrefix starts the user names of the cluster's own components.
const SystemPrefix = "system:"

// WriteIdentity writes a kubeconfig for a user and its groups to path, mode 0600, that
// reaches the API server at server.
func (cp *ControlPlane) WriteIdentity(path, server, user string, groups ...string) error {
	pair, err := cp.keys.ca.Issue(pki.Leaf{CommonName: user, Organizations: groups})
	if err != nil {
		return err
	}
	return cp.keys.writeKubeconfig(path, "operon", server, pair)
}

// WriteServing writes a serving certificate for another endpoint of this cluster, with its
// key, and the certificate of the authority that all of its clients have theirs from.
func (cp *ControlPlane) WriteServing(cert, key, authority, commonName string, hosts ...string) error {
	pair, err := cp.keys.ca.Issue(pki.Leaf{CommonName: commonName, Hosts: hosts})
	if err != nil {
		return err
	}
	return errors.Join(pki.WriteFile(cert, pair.Cert), pki.WriteFile(key, pair.Key), pki.WriteFile(authority, cp.keys.caCert))
}

// Serving issues a serving certificate for another endpoint of this cluster.
func (cp *ControlPlane) Serving(commonName string, hosts ...string) (tls.Certificate, error) {
	pair, err := cp.keys.ca.Issue(pki.Leaf{CommonName: commonName, Hosts: hosts})
	if err != nil {
		return tls.Certificate{}, err
	}
	return pair.TLS()
}

// Authorities trusts this cluster's certificates and nothing else.
func (cp *ControlPlane) Authorities() *x509.CertPool { return cp.keys.ca.Pool() }
