package sim

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"k8s.io/client-go/rest"
)

// Config is the configuration of the simulation. Client, Serving and ClientCA are required, all other fields may be zero.
type Config struct {
	// Client connects to the API server. It needs the permissions of system:masters, or of a kubelet, a volume provisioner and a
	// load balancer together.
	Client *rest.Config

	// Nodes is the number of nodes to register, with the names node-0, node-1 and so on. Existing nodes are kept. Default: 1. More
	// nodes can be added at any time by creating Node objects with NodeLabel.
	Nodes int

	// NoNodes disables the registration of Nodes. Claims and load balancers are still simulated.
	NoNodes bool

	// Tainted keeps pods off simulated nodes unless they tolerate a taint with the key NodeLabel. Default: that taint is removed
	// from existing nodes.
	Tainted bool

	// Volumes is the directory of the volumes of claims. The directory in it of a deleted volume is removed. Default: none.
	Volumes string

	// Contents creates a directory in Volumes for each new volume, for nodes that run the pods that mount it. Default: volumes have
	// no contents.
	Contents bool

	// Serving is the certificate of the endpoint from which the API server requests logs. It must be valid for 127.0.0.1.
	Serving tls.Certificate

	// ClientCA signs the certificate that the API server presents to that endpoint.
	ClientCA *x509.CertPool

	// Heartbeat is how often a node renews its lease, which takes one write for each node. It must be well below the
	// --node-monitor-grace-period of kube-controller-manager, which is 50s by default. Default: 15s.
	Heartbeat time.Duration

	// Pods and LoadBalancers are the networks from which addresses are assigned. They are not routed. Default: 198.18.0.0/16 and
	// 198.19.128.0/17, in the range that is reserved for benchmarks, so they do not collide with the networks of users.
	Pods, LoadBalancers netip.Prefix

	// Log receives a log line for each failed request. Default: nothing is logged.
	Log *slog.Logger
}

func (c *Config) complete() error {
	switch {
	case c.Client == nil:
		return errors.New("sim: Config.Client is nil: want a client configuration for the API server")
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
