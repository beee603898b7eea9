package node_test

import (
	"net/netip"
	"testing"

	"github.com/operon-framework/operon/cluster/internal/node"
)

// Pods can reach neither the cluster through the relay nor services that trust every process of the machine.
func TestOutside(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"192.0.2.1": true, "198.19.200.1": true, "198.18.128.1": false, "198.19.0.10": false,
		"127.0.0.1": false, "127.0.0.53": false, "169.254.1.1": false, "224.0.0.1": false, "0.0.0.0": false, "255.255.255.255": false,
		"168.63.129.16": false, "100.100.100.200": false, "fd00:ec2::254": false, "::ffff:168.63.129.16": false, "2001:db8::1": true,
	} {
		if got := node.Outside(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}
