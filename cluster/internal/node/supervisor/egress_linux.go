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

// egressRules lead TCP that is not for the node's network to the relay, after kube-proxy had
// its say. Of the rest, what the node itself sends is refused here, what pods send by the routes.
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

// ownTable is the table of routes for what the node itself sends.
const ownTable = 100

// openWayOut has connections to outside come to the relay, which the cluster's process
// serves, and names of outside be asked for where pods ask.
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

// routeOut makes routes by which nothing is sent. What the node itself sends needs one, or fails
// before the rules are asked. What pods send is led away before routes are, if it is TCP;
// anything else is refused, of which the kernel tells the pod.
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

// askCoreDNS has this process ask CoreDNS for names: containerd, for those of registries. The
// file that tells whom to ask is the machine's, and may be replaced at any time.
func askCoreDNS() {
	at := net.JoinHostPort(settings.Address.String(), "53")
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, at)
	}}
}
