package sim

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

// Config says what to simulate. Client, Serving and ClientCA are required, the rest may
// be zero.
type Config struct {
	// Client reaches the API server. It needs the rights of system:masters, or else those
	// of a kubelet, a volume provisioner and a load balancer together.
	Client *rest.Config

	// Nodes to register, called node-0, node-1 and so on; those that exist already are
	// kept. Default 1. Further nodes can be added at any time by creating Node objects
	// that carry NodeLabel.
	Nodes int

	// NoNodes keeps Nodes from being registered: claims and load balancers are still served.
	NoNodes bool

	// Taint is put on the nodes that are registered. Default: none.
	Taint *corev1.Taint

	// Volumes is a directory in which the volumes of claims are made, for nodes that run what
	// mounts them. Default: volumes hold nothing.
	Volumes string

	// Serving is the certificate of the endpoint that the API server asks for logs. It
	// has to be valid for 127.0.0.1.
	Serving tls.Certificate

	// ClientCA signs the certificate that the API server presents to that endpoint.
	ClientCA *x509.CertPool

	// Heartbeat is how often a node renews its lease: one write for each node. It has to be
	// well below the --node-monitor-grace-period of the kube-controller-manager, which is
	// 50s unless set. Default 15s.
	Heartbeat time.Duration

	// Pods and LoadBalancers are the networks that addresses are taken from. Nothing
	// routes them. Default 198.18.0.0/16 and 198.19.128.0/17, out of the range that is
	// reserved for benchmarks, so that they clash with no network that a user is in.
	Pods, LoadBalancers netip.Prefix

	// Log gets a record for each request that failed. Default: nothing is logged.
	Log *slog.Logger
}

func (c *Config) complete() error {
	switch {
	case c.Client == nil:
		return errors.New("sim: Config.Client is nil: give the configuration of a client of the API server")
	case len(c.Serving.Certificate) == 0:
		return errors.New("sim: Config.Serving is empty: give a serving certificate for 127.0.0.1")
	case c.ClientCA == nil:
		return errors.New("sim: Config.ClientCA is nil: give the authority of the API server's kubelet client certificate")
	case c.Nodes < 0:
		return fmt.Errorf("sim: Config.Nodes is %d: want 0 (for 1) or more", c.Nodes)
	case c.Heartbeat < 0:
		return fmt.Errorf("sim: Config.Heartbeat is %v: want 0 (for 15s) or more", c.Heartbeat)
	}
	c.setDefaults()
	return nil
}

func (c *Config) setDefaults() {
	if c.Nodes == 0 {
		c.Nodes = 1
	}
	if c.NoNodes {
		c.Nodes = 0
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = 15 * time.Second
	}
	if !c.Pods.IsValid() {
		c.Pods = netip.MustParsePrefix("198.18.0.0/16")
	}
	if !c.LoadBalancers.IsValid() {
		c.LoadBalancers = netip.MustParsePrefix("198.19.128.0/17")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
}
