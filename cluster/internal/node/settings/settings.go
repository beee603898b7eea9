// Package settings defines the settings that the cluster process and the node process share: addresses, the files
// that one writes and the other reads, and the words that they exchange.
package settings

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"
)

// Name is the node's, in the cluster and as its host name.
const Name = "container-0"

// Addresses all come from 198.18.0.0/15, which is routed nowhere and clashes with no
// network that a user is in. Simulated pods have the lower half of 198.18.0.0/16, Services
// have 198.19.0.0/17.
var (
	All           = netip.MustParsePrefix("198.18.0.0/15")
	Pods          = netip.MustParsePrefix("198.18.128.0/17")
	SimulatedPods = netip.MustParsePrefix("198.18.0.0/17")
	// Own is what of All is in use.
	Own = []netip.Prefix{netip.MustParsePrefix("198.18.0.0/16"), netip.MustParsePrefix("198.19.0.0/17")}
	// Address is the node's, and its bridge's, and the API server's as seen from the node.
	Address = netip.MustParseAddr("198.18.128.1")
	// DNS is the Service that pods ask for names.
	DNS = netip.MustParseAddr("198.19.0.10")
)

// Registry is where the cluster's images are pulled from, in the node's network.
var Registry = netip.MustParseAddrPort("127.0.0.2:5000")

// Resolver is where names of outside are asked for, in the node's network.
var Resolver = netip.MustParseAddrPort("127.0.0.2:5353")

// ResolveTimeout is when it gives up.
const ResolveTimeout = 10 * time.Second

const (
	// APIPort is where the API server listens on Address.
	APIPort = 6443
	// RelayPort is where connections to outside are led, in the node's network.
	RelayPort = 15001
	// KubeletPort is where the kubelet listens on Address.
	KubeletPort = 10250
	// Domain ends the names of Services.
	Domain = "cluster.local"
	// Bridge is the link that pods are connected to.
	Bridge = "operon0"
)

// APIServer is the URL of the API server as seen from the node.
func APIServer() string { return fmt.Sprintf("https://%s", netip.AddrPortFrom(Address, APIPort)) }

// Settings are what a node's process is told.
type Settings struct {
	// Store is the directory of images, and of what containerd knows of containers.
	Store string `json:"store"`
	// Runc is the path of that program.
	Runc string `json:"runc"`
	// ProxyMode is how kube-proxy leads to Services: iptables or nftables.
	ProxyMode string `json:"proxyMode"`
	// KeepOOMScore keeps containers from having a lower score than the node's process,
	// for which the machine does not let it have the right.
	KeepOOMScore bool `json:"keepOOMScore,omitempty"`
	// Registry are the names of the cluster's own registry, by which images in it are called.
	Registry []string `json:"registry,omitempty"`
	// Egress lets what is in the node's network reach what is outside of it.
	Egress bool `json:"egress,omitempty"`
	// FeatureGates are switched for the kubelet and kube-proxy.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
}

// Dir is a node's directory, below its cluster's.
type Dir string

// File is the path of a file in the directory.
func (d Dir) File(name string) string { return filepath.Join(string(d), name) }

// Socket is where containerd answers.
func (d Dir) Socket() string { return d.File("containerd.sock") }

// LongestSocket is the one with the longest path, the kubelet's for what asks for devices of pods.
func (d Dir) LongestSocket() string {
	return filepath.Join(d.KubeletRoot(), "pod-resources", "kubelet.sock")
}

// KubeletRoot is where the kubelet keeps what it knows, and volumes.
func (d Dir) KubeletRoot() string { return d.File("kubelet") }

// Snapshotter is the file that tells what unpacks images.
func (d Dir) Snapshotter() string { return d.File("snapshotter") }

// Kubeconfig is the file by which a component reaches the API server.
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

// Authority returns the path of the CA certificate whose clients the kubelet answers.
func (d Dir) Authority() string { return d.File("ca.crt") }

func (d Dir) settings() string { return d.File("settings.json") }

// Write makes the directory, with the settings in it.
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

// Report is what the node's process tells: that its network is there and pods can be
// connected, or what it ends of.
type Report struct {
	Error string `json:"error,omitempty"`
}

// Order is what it is told after that: that the files by which it joins the cluster are
// there, and the API server answers.
type Order struct {
	Join bool `json:"join"`
}
