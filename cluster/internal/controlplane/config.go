package controlplane

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
)

// Config says what control plane to start. Dir is required, the rest may be zero.
type Config struct {
	// Dir holds keys, kubeconfigs, the etcd socket and, unless DataDir is given, etcd's
	// files. It is created with mode 0700.
	Dir string

	// DataDir keeps etcd's files and the cluster's keys across starts, with fsync on every
	// commit. Empty: the state ends with the process, and nothing is synced.
	DataDir string

	// Port that the API server listens on, on loopback. 0: one that is free.
	Port int

	// Hosts are further names and addresses that the API server's certificate is valid for.
	Hosts []string

	// Egress is a unix socket. Where it is given, the API server has CONNECT answered there
	// for what it talks to itself: kubelets, webhooks and Services.
	Egress string

	// FeatureGates are switched for every component: they share one process.
	FeatureGates map[string]bool

	// RuntimeConfig turns API groups and versions on or off, as the API server's flag of
	// that name does: "resource.k8s.io/v1beta1": true, "api/alpha": true.
	RuntimeConfig map[string]bool

	// AuditPolicy is the path of an audit policy. Empty: nothing is audited.
	AuditPolicy string

	// AuditLog is the file that audit events go to. Default: audit.log in Dir.
	AuditLog string

	// APIServer, ControllerManager and Scheduler are flags of the component, by name and
	// without dashes. They win over what Operon sets.
	APIServer, ControllerManager, Scheduler Settings
}

func (c *Config) validate() error {
	if c.Dir == "" {
		return errors.New("Config.Dir is empty: name a directory for the cluster's keys and sockets")
	}
	if c.Port < 0 || c.Port > 65535 {
		return fmt.Errorf("port %d: want 0 to 65535", c.Port)
	}
	if c.AuditLog == "" {
		c.AuditLog = filepath.Join(c.Dir, "audit.log")
	}
	return nil
}

// Durable reports whether the state outlives the process.
func (c *Config) Durable() bool { return c.DataDir != "" }

// keysDir is where the authority and the token key live: with the state that they protect.
func (c *Config) keysDir() string {
	if c.Durable() {
		return filepath.Join(c.DataDir, "pki")
	}
	return filepath.Join(c.Dir, "pki")
}

func (c *Config) etcdDir() string {
	if c.Durable() {
		return filepath.Join(c.DataDir, "etcd")
	}
	return filepath.Join(c.Dir, "etcd")
}

// Addresses of Services come from the benchmarking range 198.18.0.0/15, which is routed
// nowhere and clashes with no network that a user is in. Pods take 198.18.0.0/16, load
// balancers 198.19.128.0/17.
const serviceRange = "198.19.0.0/17"

func (c *Config) listen() (net.Listener, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(c.Port)))
	if err != nil {
		return nil, fmt.Errorf("the API server cannot listen: %w; name another port, or none to have a free one chosen", err)
	}
	return listener, nil
}
