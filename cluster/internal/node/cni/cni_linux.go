// Package cni connects the pods of a node to its network. It is a CNI plugin that handles both the link to the bridge and the
// addresses. Existing plugins for this are separate programs that start each other and cannot be linked in. This plugin is part
// of this program and takes a few milliseconds.
//
// Pods reach each other, the node and Services. If they request it, they are reachable through ports of the node (hostPort).
package cni

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// Name is the name of the program when it runs as the plugin, and the type of the plugin in the settings of a network.
const Name = "operon-cni"

// Settings are the plugin's settings in the settings of a network.
type Settings struct {
	// Bridge is the link to which pods are connected. It must exist.
	Bridge string `json:"bridge"`
	// Subnet is the range of pod addresses. Gateway is the address of the bridge.
	Subnet  netip.Prefix `json:"subnet"`
	Gateway netip.Addr   `json:"gateway"`
	// Route is the range that pods reach through the gateway.
	Route netip.Prefix `json:"route"`
	// Leases is the directory that contains a file for each address in use.
	Leases string `json:"leases"`
	// Ports is the directory that contains a file for each pod to which ports of the node are forwarded.
	Ports string `json:"ports"`
}

// Main is the plugin's main function.
func Main() {
	skel.PluginMainFuncs(skel.CNIFuncs{Add: add, Del: del, Check: check}, version.All, "connects pods of an Operon node")
}

// asking is the request of the runtime: the settings of the network, and the values for this pod.
type asking struct {
	Settings
	Version string `json:"cniVersion"`
	Runtime struct {
		Ports []Port `json:"portMappings"`
	} `json:"runtimeConfig"`
}

func read(args *skel.CmdArgs) (asking, error) {
	var read asking
	if err := json.Unmarshal(args.StdinData, &read); err != nil {
		return asking{}, fmt.Errorf("the network's settings: %w", err)
	}
	return read, nil
}

func add(args *skel.CmdArgs) error {
	asks, err := read(args)
	if err != nil {
		return err
	}
	s := asks.Settings
	address, err := lease(s, args.ContainerID)
	if err != nil {
		return err
	}
	result, err := connect(s, args, address)
	if err != nil {
		return errors.Join(err, release(s, args.ContainerID))
	}
	if err := openPorts(s, args.ContainerID, address, asks.Runtime.Ports); err != nil {
		return errors.Join(err, del(args))
	}
	return types.PrintResult(result, asks.Version)
}

func del(args *skel.CmdArgs) error {
	asks, err := read(args)
	if err != nil {
		return err
	}
	s := asks.Settings
	closed := closePorts(s, args.ContainerID)
	link, err := netlink.LinkByName(hostLink(args.ContainerID))
	if err == nil {
		err = netlink.LinkDel(link)
	}
	if missing := new(netlink.LinkNotFoundError); errors.As(err, missing) {
		err = nil // the link is deleted with the pod's namespace
	}
	return errors.Join(closed, err, release(s, args.ContainerID))
}

func check(args *skel.CmdArgs) error {
	_, err := netlink.LinkByName(hostLink(args.ContainerID))
	return err
}

// hostLink returns the name of the node's end of a pod's link. Names have at most 15 characters.
func hostLink(container string) string {
	sum := sha256.Sum256([]byte(container))
	return "veth" + hex.EncodeToString(sum[:])[:11]
}

// connect creates the link between the bridge and the pod, and sets up the pod's end.
func connect(s Settings, args *skel.CmdArgs, address netip.Addr) (*current.Result, error) {
	bridge, err := netlink.LinkByName(s.Bridge)
	if err != nil {
		return nil, fmt.Errorf("bridge %s: %w", s.Bridge, err)
	}
	pod, err := netns.GetFromPath(args.Netns)
	if err != nil {
		return nil, fmt.Errorf("the pod's network namespace %s: %w", args.Netns, err)
	}
	defer pod.Close()
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MasterIndex = hostLink(args.ContainerID), bridge.Attrs().Index
	veth := &netlink.Veth{LinkAttrs: attrs, PeerName: args.IfName, PeerNamespace: netlink.NsFd(pod)}
	if err := netlink.LinkAdd(veth); err != nil {
		return nil, fmt.Errorf("make the pod's link: %w", err)
	}
	// With this, a pod reaches itself through its Service.
	if err := errors.Join(netlink.LinkSetHairpin(veth, true), netlink.LinkSetUp(veth)); err != nil {
		return nil, fmt.Errorf("the node's end of the pod's link: %w", err)
	}
	link, err := setUp(s, pod, args.IfName, address)
	if err != nil {
		return nil, fmt.Errorf("the pod's end of its link: %w", err)
	}
	return result(s, args, link, address), nil
}

// setUp sets the address of the link in the pod and the routes to everything else.
func setUp(s Settings, pod netns.NsHandle, name string, address netip.Addr) (netlink.Link, error) {
	inside, err := netlink.NewHandleAt(pod)
	if err != nil {
		return nil, err
	}
	defer inside.Close()
	link, err := inside.LinkByName(name)
	if err != nil {
		return nil, err
	}
	if err := inside.AddrAdd(link, &netlink.Addr{IPNet: ipNet(netip.PrefixFrom(address, s.Subnet.Bits()))}); err != nil {
		return nil, err
	}
	if err := inside.LinkSetUp(link); err != nil {
		return nil, err
	}
	return link, inside.RouteAdd(&netlink.Route{
		LinkIndex: link.Attrs().Index, Dst: ipNet(s.Route), Gw: s.Gateway.AsSlice(),
	})
}

func result(s Settings, args *skel.CmdArgs, link netlink.Link, address netip.Addr) *current.Result {
	return &current.Result{
		CNIVersion: current.ImplementedSpecVersion,
		Interfaces: []*current.Interface{{Name: args.IfName, Mac: link.Attrs().HardwareAddr.String(), Sandbox: args.Netns}},
		IPs: []*current.IPConfig{{
			Interface: current.Int(0), Address: *ipNet(netip.PrefixFrom(address, s.Subnet.Bits())), Gateway: s.Gateway.AsSlice(),
		}},
		Routes: []*types.Route{{Dst: *ipNet(s.Route), GW: s.Gateway.AsSlice()}},
	}
}

func ipNet(prefix netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen())}
}
