package node_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/operon-framework/operon/cluster/internal/node"
	"github.com/operon-framework/operon/cluster/internal/testaid"
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

// Firewalls recognize the user of a socket. Those of the relay are not root's.
func TestDialOutside(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		testaid.Lacks(t, "only root can open sockets of another user")
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := node.DialOutside(t.Context(), listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if user := userOf(t, conn); user != "65534" {
		t.Errorf("the socket belongs to user %s", user)
	}
	own, err := net.Dial("tcp4", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if user := userOf(t, own); user != "0" {
		t.Errorf("a later socket belongs to user %s", user)
	}
}

// userOf returns the user of a connection's socket in the form of proc_net_tcp.
func userOf(t *testing.T, conn net.Conn) string {
	t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	local := fmt.Sprintf(":%04X", conn.LocalAddr().(*net.TCPAddr).Port)
	for line := range strings.Lines(string(table)) {
		const address, user = 1, 7
		if fields := strings.Fields(line); len(fields) > user && strings.HasSuffix(fields[address], local) {
			return fields[user]
		}
	}
	t.Fatalf("there is no socket of %s in\n%s", conn.LocalAddr(), table)
	return ""
}
