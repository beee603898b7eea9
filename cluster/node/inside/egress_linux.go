package inside

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/operon-framework/operon/cluster/node/settings"
)

// egressRules lead TCP that is not for the node's network to the relay, after kube-proxy had
// its say, and refuse everything else.
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
	chain forwarded {
		type filter hook forward priority 0
		ip daddr != @own reject with icmp type admin-prohibited
	}
	chain sent {
		type filter hook output priority 0
		ip daddr != @own reject with icmp type admin-prohibited
	}
}
`

// openWayOut has connections to outside come to the relay, which the cluster's process
// serves, and names of outside be asked for where pods ask.
func openWayOut(dir settings.Dir) error {
	bridge, err := netlink.LinkByName(settings.Bridge)
	if err != nil {
		return err
	}
	everything := &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}
	// Nothing is sent by it: what has no route fails before the rules are asked.
	if err := netlink.RouteAdd(&netlink.Route{LinkIndex: bridge.Attrs().Index, Dst: everything, Src: settings.Address.AsSlice()}); err != nil {
		return fmt.Errorf("the route to outside: %w", err)
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
	return askCoreDNS(dir)
}

// askCoreDNS has the node's own processes ask CoreDNS for names: containerd, for those of
// registries. Only the node sees it.
func askCoreDNS(dir settings.Dir) error {
	seen, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil {
		return fmt.Errorf("whom this machine asks for names: %w", err)
	}
	own := dir.File("resolv.node")
	if err := os.WriteFile(own, []byte("nameserver "+settings.Address.String()+"\n"), 0o644); err != nil {
		return err
	}
	return unix.Mount(own, seen, "", unix.MS_BIND, "")
}
