//go:build !linux

package node

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"

	"github.com/operon-framework/operon/cluster/internal/node/settings"
)

// errSystem is the reason why this system cannot run containers.
var errSystem = errors.New("this machine cannot run a container node: it requires Linux; simulated nodes (--node sim) run everywhere")

// Config is the configuration of a node.
type Config struct {
	Dir, Store   string
	FeatureGates map[string]bool
	Registry     []string
	Egress       bool
	Log          *os.File
}

// Node is a running node. It does not exist on this system.
type Node struct{}

// Check returns an error that names what this machine lacks for a node of real containers.
func Check() error { return errSystem }

// Start fails on this system.
func Start(Config) (*Node, error) { return nil, errSystem }

// Clear has nothing to remove on this system.
func Clear(string) error { return nil }

// Join fails on this system.
func (n *Node) Join(func() error) error { return errSystem }

// Dir is empty on this system.
func (n *Node) Dir() settings.Dir { return "" }

// Listen fails on this system.
func (n *Node) Listen(netip.AddrPort) (net.Listener, error) { return nil, errSystem }

// Dial fails on this system.
func (n *Node) Dial(context.Context, string) (net.Conn, error) { return nil, errSystem }

// Relay fails on this system.
func (n *Node) Relay(context.Context, Dialer) error { return errSystem }

// DialOutside fails on this system.
func DialOutside(context.Context, string) (net.Conn, error) { return nil, errSystem }

// Resolve fails on this system.
func (n *Node) Resolve(context.Context) error { return errSystem }

// Publish does nothing on this system.
func (n *Node) Publish(context.Context, net.Listener, uint16, func(int)) {}

// Ended returns nil because no node runs on this system.
func (n *Node) Ended() <-chan struct{} { return nil }

// Err returns why there is no node.
func (n *Node) Err() error { return errSystem }

// Stop has nothing to stop on this system.
func (n *Node) Stop() error { return nil }

// awaitOver returns false: there is no node whose pods could vanish.
func awaitOver(net.Conn) bool { return false }
