package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"github.com/operon-framework/operon/cluster/internal/metrics"
)

// apiServerSettings returns the flags that Operon sets.
func apiServerSettings(cfg *Config, k *keys, socket string) Settings {
	settings := Settings{
		"advertise-address":                  "127.0.0.1", // the default is the address of the default route: nothing listens on it, and not all machines have it
		"etcd-servers":                       "unix://" + socket,
		"authorization-mode":                 "Node,RBAC",
		"enable-admission-plugins":           "NodeRestriction",
		"allow-privileged":                   "true",
		"client-ca-file":                     k.cert(caFile),
		"tls-cert-file":                      k.cert(serverFile),
		"tls-private-key-file":               k.key(serverFile),
		"service-account-issuer":             "https://kubernetes.default.svc.cluster.local",
		"service-account-key-file":           k.tokenKey(),
		"service-account-signing-key-file":   k.tokenKey(),
		"service-cluster-ip-range":           serviceRange,
		"endpoint-reconciler-type":           "none", // a loopback address is not a valid endpoint
		"kubelet-certificate-authority":      k.cert(caFile),
		"kubelet-client-certificate":         k.cert(kubeletFile),
		"kubelet-client-key":                 k.key(kubeletFile),
		"kubelet-preferred-address-types":    "InternalIP",
		"proxy-client-cert-file":             k.cert(proxyFile),
		"proxy-client-key-file":              k.key(proxyFile),
		"requestheader-client-ca-file":       k.cert(proxyCAFile),
		"requestheader-allowed-names":        "front-proxy-client",
		"requestheader-extra-headers-prefix": "X-Remote-Extra-",
		"requestheader-group-headers":        "X-Remote-Group",
		"requestheader-username-headers":     "X-Remote-User",
	}
	if cfg.AuditPolicy != "" {
		settings["audit-policy-file"] = cfg.AuditPolicy
		settings["audit-log-path"] = cfg.AuditLog
	}
	if len(cfg.FeatureGates) > 0 {
		settings["feature-gates"] = joinSwitches(cfg.FeatureGates)
	}
	if len(cfg.RuntimeConfig) > 0 {
		settings["runtime-config"] = joinSwitches(cfg.RuntimeConfig)
	}
	return settings
}

// newAPIServer builds the chain of aggregator, API server and CRD server that kube-apiserver consists of. Reading the options
// takes as long as the start of etcd. Therefore it waits for etcd, whose result is sent to stored, only after that.
func newAPIServer(ctx context.Context, cfg *Config, k *keys, socket string, listener net.Listener, added extensions, stored <-chan error) (*APIServer, error) {
	o := options.NewServerRunOptions()
	settings := apiServerSettings(cfg, k, socket)
	if cfg.Egress != "" {
		file, err := writeEgress(cfg)
		if err != nil {
			return nil, err
		}
		settings["egress-selector-config-file"] = file
	}
	if err := apply("kube-apiserver", o.Flags(), settings, cfg.APIServer); err != nil {
		return nil, err
	}
	added.admission(o.Admission.GenericAdmission)
	o.SecureServing.Listener = listener
	o.SecureServing.BindAddress = net.IPv4(127, 0, 0, 1)
	if err := o.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, fmt.Errorf("feature gates: %w", err)
	}
	completed, err := o.Complete(ctx)
	if err != nil {
		return nil, fmt.Errorf("kube-apiserver: %w", err)
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return nil, fmt.Errorf("kube-apiserver: %w", utilerrors.NewAggregate(errs))
	}
	if err := <-stored; err != nil {
		return nil, err
	}
	config, err := app.NewConfig(completed)
	if err != nil {
		return nil, fmt.Errorf("kube-apiserver: %w", err)
	}
	metrics.Describe(config.KubeAPIs.ControlPlane.Generic)
	added.apiServer(config)
	server, err := buildChain(config)
	if err != nil {
		return nil, err
	}
	added.built(*server)
	return server, nil
}

func buildChain(config *app.Config) (*APIServer, error) {
	complete, err := config.Complete()
	if err != nil {
		return nil, fmt.Errorf("kube-apiserver: %w", err)
	}
	chain, err := app.CreateServerChain(complete)
	if err != nil {
		return nil, fmt.Errorf("kube-apiserver: %w", err)
	}
	server, ok := chain.GenericAPIServer.NextDelegate().(*genericapiserver.GenericAPIServer)
	if !ok {
		return nil, errors.New("kube-apiserver: the aggregator has no API server to delegate to")
	}
	if err := metrics.Install(server); err != nil {
		return nil, fmt.Errorf("API group %s: %w", metrics.GroupVersion.Group, err)
	}
	return &APIServer{Aggregator: chain, Server: server}, nil
}

// run serves until ctx ends.
func (s *APIServer) run(ctx context.Context) error {
	prepared, err := s.Aggregator.PrepareRun()
	if err != nil {
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	if err := prepared.Run(ctx); err != nil {
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	return nil
}
