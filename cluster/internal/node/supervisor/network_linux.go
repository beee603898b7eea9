package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/operon-framework/operon/cluster/internal/node/settings"
)

// bridgeFilter is the kernel setting that makes traffic between pods pass the rules of kube-proxy: the response of a pod behind
// a Service has to come from the address of the Service.
const bridgeFilter = "/proc/sys/net/bridge/bridge-nf-call-iptables"

// startNetwork creates the links of the node. No link leads outside.
func startNetwork() error {
	if err := unix.Sethostname([]byte(settings.Name)); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	loopback, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	if err := netlink.LinkSetUp(loopback); err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = settings.Bridge
	bridge := &netlink.Bridge{LinkAttrs: attrs}
	if err := netlink.LinkAdd(bridge); err != nil {
		return fmt.Errorf("add the bridge %s: %w", settings.Bridge, err)
	}
	address := &net.IPNet{IP: settings.Address.AsSlice(), Mask: net.CIDRMask(settings.Pods.Bits(), 32)}
	if err := netlink.AddrAdd(bridge, &netlink.Addr{IPNet: address}); err != nil {
		return fmt.Errorf("the bridge's address: %w", err)
	}
	if err := netlink.LinkSetUp(bridge); err != nil {
		return err
	}
	// The routes make Services reachable from the node itself: without them, a connection fails before the rules that redirect it
	// are applied.
	for _, own := range settings.Own {
		prefix := &net.IPNet{IP: own.Addr().AsSlice(), Mask: net.CIDRMask(own.Bits(), 32)}
		if err := netlink.RouteAdd(&netlink.Route{LinkIndex: bridge.Index, Dst: prefix, Src: settings.Address.AsSlice()}); err != nil {
			return fmt.Errorf("the route to Services: %w", err)
		}
	}
	return forward()
}

// forward makes the kernel forward packets that pods send to each other through Services. It disables redirects to a shorter
// route, which never exists: for a second after a redirect, the kernel does not report to the sender that a Service has no
// endpoints, and connections hang instead of being refused.
func forward() error {
	for name, value := range map[string]string{"ip_forward": "1", "conf/all/send_redirects": "0", "conf/" + settings.Bridge + "/send_redirects": "0"} {
		if err := os.WriteFile("/proc/sys/net/ipv4/"+name, []byte(value), 0); err != nil {
			return err
		}
	}
	err := os.WriteFile(bridgeFilter, []byte("1"), 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // see masquerade
	}
	return err
}

// masquerade reports whether the node has to be the source of connections to pods behind Services: if the kernel cannot filter
// traffic on a bridge, the responses would bypass the rules and go directly to the client pod.
func masquerade() bool {
	_, err := os.Stat(bridgeFilter)
	return err != nil
}
