package controlplane

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
)

// Config is the configuration of a control plane. Dir is required, all other fields may be zero.
type Config struct {
	// Dir contains keys, kubeconfigs, the etcd socket and, unless DataDir is set, the files of etcd. It is created with mode 0700.
	Dir string

	// DataDir retains the files of etcd and the keys of the cluster across starts, with fsync on every commit. If it is empty, the
	// state is lost when the process ends, and nothing is synced.
	DataDir string

	// Port is the loopback port of the API server. 0 means a free port.
	Port int

	// Hosts are additional names and addresses for which the API server's certificate is valid.
	Hosts []string

	// Egress is a unix socket. If it is set, the API server sends CONNECT requests to it for its own connections to kubelets,
	// webhooks and Services.
	Egress string

	// FeatureGates apply to every component, because they share one process.
	FeatureGates map[string]bool

	// RuntimeConfig enables or disables API groups and versions, like the flag of that name of the API server:
	// "resource.k8s.io/v1beta1": true, "api/alpha": true.
	RuntimeConfig map[string]bool

	// AuditPolicy is the path of an audit policy. If it is empty, nothing is audited.
	AuditPolicy string

	// AuditLog is the file to which audit events are written. Default: audit.log in Dir.
	AuditLog string

	// APIServer, ControllerManager and Scheduler are flags of the component, by name and without dashes. They override the flags
	// that Operon sets.
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

// keysDir returns the directory of the certificate authority and the token key: they are stored with the state that they
// protect.
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

// Addresses of Services are in the benchmarking range 198.18.0.0/15, which is not routed and does not collide with the networks
// of users. Pods use 198.18.0.0/16, load balancers 198.19.128.0/17.
const serviceRange = "198.19.0.0/17"

func (c *Config) listen() (net.Listener, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(c.Port)))
	if err != nil {
		return nil, fmt.Errorf("the API server cannot listen: %w; set another port, or 0 for a free one", err)
	}
	return listener, nil
}
