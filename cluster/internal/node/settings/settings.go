// Package settings defines the settings that the cluster process and the node process share: addresses, the files that one
// writes and the other reads, and the messages that they exchange.
package settings

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"
)

// Name is the name of the node in the cluster, and its host name.
const Name = "container-0"

// All addresses are in 198.18.0.0/15, which is not routed and does not collide with the networks of users. Simulated pods use
// the lower half of 198.18.0.0/16, Services use 198.19.0.0/17.
var (
	All           = netip.MustParsePrefix("198.18.0.0/15")
	Pods          = netip.MustParsePrefix("198.18.128.0/17")
	SimulatedPods = netip.MustParsePrefix("198.18.0.0/17")
	// Own is the part of All that is in use.
	Own = []netip.Prefix{netip.MustParsePrefix("198.18.0.0/16"), netip.MustParsePrefix("198.19.0.0/17")}
	// Address is the address of the node, of its bridge, and of the API server as seen from the node.
	Address = netip.MustParseAddr("198.18.128.1")
	// DNS is the address of the Service that resolves names for pods.
	DNS = netip.MustParseAddr("198.19.0.10")
)

// Registry is the address in the node's network from which the cluster's images are pulled.
var Registry = netip.MustParseAddrPort("127.0.0.2:5000")

// Resolver is the address in the node's network that resolves names outside of the cluster.
var Resolver = netip.MustParseAddrPort("127.0.0.2:5353")

// ResolveTimeout is the timeout of a query to Resolver.
const ResolveTimeout = 10 * time.Second

const (
	// APIPort is the port of the API server on Address.
	APIPort = 6443
	// RelayPort is the port in the node's network to which connections to the outside are redirected.
	RelayPort = 15001
	// KubeletPort is the port of the kubelet on Address.
	KubeletPort = 10250
	// Domain is the suffix of the names of Services.
	Domain = "cluster.local"
	// Bridge is the link to which pods are connected.
	Bridge = "operon0"
)

// APIServer returns the URL of the API server as seen from the node.
func APIServer() string { return fmt.Sprintf("https://%s", netip.AddrPortFrom(Address, APIPort)) }

// Settings are the settings of a node's process.
type Settings struct {
	// Store is the directory of images and of containerd's container metadata.
	Store string `json:"store"`
	// Runc is the path of the program runc.
	Runc string `json:"runc"`
	// ProxyMode is the mode of kube-proxy: iptables or nftables.
	ProxyMode string `json:"proxyMode"`
	// KeepOOMScore prevents containers from having a lower OOM score than the node's process, which has no permission for that on
	// this machine.
	KeepOOMScore bool `json:"keepOOMScore,omitempty"`
	// Registry contains the host names of the cluster's own registry, which are the prefixes of the names of its images.
	Registry []string `json:"registry,omitempty"`
	// Egress allows connections from the node's network to addresses outside of it.
	Egress bool `json:"egress,omitempty"`
	// FeatureGates enables or disables feature gates in the kubelet and kube-proxy.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
}

// Dir is a node's directory, inside the directory of its cluster.
type Dir string

// File returns the path of a file in the directory.
func (d Dir) File(name string) string { return filepath.Join(string(d), name) }

// Socket returns the path of containerd's socket.
func (d Dir) Socket() string { return d.File("containerd.sock") }

// LongestSocket returns the socket with the longest path, which is the kubelet's socket for queries about the devices of pods.
func (d Dir) LongestSocket() string {
	return filepath.Join(d.KubeletRoot(), "pod-resources", "kubelet.sock")
}

// KubeletRoot returns the directory of the kubelet's state and of volumes.
func (d Dir) KubeletRoot() string { return d.File("kubelet") }

// Snapshotter returns the file with the name of the snapshotter, which unpacks images.
func (d Dir) Snapshotter() string { return d.File("snapshotter") }

// Kubeconfig returns the file with which a component connects to the API server.
func (d Dir) Kubeconfig(component string) string { return d.File(component + ".kubeconfig") }

// Components that have a kubeconfig.
const (
	Kubelet = "kubelet"
	Proxy   = "kube-proxy"
	CoreDNS = "coredns"
)

// ServingCert returns the path of the kubelet's serving certificate.
func (d Dir) ServingCert() string { return d.File("kubelet.crt") }

// ServingKey returns the path of the key to ServingCert.
func (d Dir) ServingKey() string { return d.File("kubelet.key") }

// Authority returns the path of the CA certificate that verifies the clients of the kubelet.
func (d Dir) Authority() string { return d.File("ca.crt") }

func (d Dir) settings() string { return d.File("settings.json") }

// Write creates the directory and writes the settings to it.
func (d Dir) Write(s Settings) error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return os.WriteFile(d.settings(), data, 0o600)
}

// Read returns the settings in the directory.
func (d Dir) Read() (Settings, error) {
	data, err := os.ReadFile(d.settings())
	if err != nil {
		return Settings{}, err
	}
	var s Settings
	if err := json.Unmarshal(data, &s); err != nil {
		return Settings{}, fmt.Errorf("%s: %w", d.settings(), err)
	}
	return s, nil
}

// Report is a message from the process of the node: its network exists and pods can be connected, or the reason why it ends.
type Report struct {
	Error string `json:"error,omitempty"`
}

// Order is a later message to the process of the node: the files with which it joins the cluster exist, and the API server
// responds. The end of the pipe orders it to stop the containers.
type Order struct {
	Join bool `json:"join"`
}
