package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/operon-framework/operon/cluster/internal/node/settings"
)

// egressRules redirect TCP connections to addresses outside of the node's network to the relay, after the rules of kube-proxy.
// Other packets to these addresses are rejected: packets of the node itself by these rules, packets of pods by the routes.
const egressRules = `
table ip operon-egress {
	set own {
		type ipv4_addr; flags interval
		elements = { 127.0.0.0/8, %s }
	}
	chain prerouting {
		type nat hook prerouting priority -90
		ip daddr != @own meta l4proto tcp redirect to :%d
	}
	chain output {
		type nat hook output priority -90
		ip daddr != @own meta l4proto tcp redirect to :%d
	}
	chain sent {
		type filter hook output priority 0
		ip daddr != @own reject with icmp type admin-prohibited
	}
}
`

// ownTable is the routing table for packets of the node itself.
const ownTable = 100

// openWayOut redirects connections to the outside to the relay, which the cluster's process serves, and makes this process
// resolve names with the same DNS server as pods.
func openWayOut() error {
	if err := routeOut(); err != nil {
		return fmt.Errorf("the routes to outside: %w", err)
	}
	var own []string
	for _, prefix := range settings.Own {
		own = append(own, prefix.String())
	}
	nft := exec.Command("nft", "-f", "-")
	nft.Stdin = strings.NewReader(fmt.Sprintf(egressRules, strings.Join(own, ", "), settings.RelayPort, settings.RelayPort))
	if said, err := nft.CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s", err, said)
	}
	askCoreDNS()
	return nil
}

// routeOut adds routes for packets to the outside, none of which are actually sent. Packets of the node itself need a
// route, or the connection fails before the nftables rules are evaluated. TCP packets of pods are redirected before
// routing. All other packets of pods are rejected, and the kernel reports this to the pod.
func routeOut() error {
	bridge, err := netlink.LinkByName(settings.Bridge)
	if err != nil {
		return err
	}
	everything := &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}
	ofNode := netlink.NewRule()
	ofNode.Family, ofNode.IifName, ofNode.Table = unix.AF_INET, "lo", ownTable
	return errors.Join(
		netlink.RouteAdd(&netlink.Route{Dst: everything, Type: unix.RTN_PROHIBIT}),
		netlink.RouteAdd(&netlink.Route{Dst: everything, LinkIndex: bridge.Attrs().Index, Src: settings.Address.AsSlice(), Table: ownTable}),
		netlink.RuleAdd(ofNode),
	)
}

// askCoreDNS makes this process resolve names with CoreDNS: containerd resolves the names of registries. The resolver file
// belongs to the machine and may be replaced at any time.
func askCoreDNS() {
	at := net.JoinHostPort(settings.Address.String(), "53")
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, at)
	}}
}
