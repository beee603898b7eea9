package cni

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Port is a port of the node that is forwarded to a port of a pod, in the format of the runtime.
type Port struct {
	HostPort      uint16 `json:"hostPort"`
	ContainerPort uint16 `json:"containerPort"`
	Protocol      string `json:"protocol"`
	HostIP        string `json:"hostIP"`
}

// opened are the ports of one pod, stored in a file with the name of its container.
type opened struct {
	Address netip.Addr `json:"address"`
	Ports   []Port     `json:"ports"`
}

// portRules forward ports of the node to pods, after the rules of kube-proxy. Connections from pods are masqueraded, so the
// response comes from the address to which the pod connected. Therefore the target sees the node as the client.
const portRules = `table ip operon-ports {
	map ports {
		type inet_proto . inet_service : ipv4_addr . inet_service
		elements = { %[1]s }
	}
	chain prerouting {
		type nat hook prerouting priority -95
		ip daddr %[2]s dnat ip to meta l4proto . th dport map @ports
	}
	chain output {
		type nat hook output priority -95
		ip daddr %[2]s dnat ip to meta l4proto . th dport map @ports
	}
	chain postrouting {
		type nat hook postrouting priority 95
		ip saddr %[3]s ip daddr %[3]s ct status dnat ct original ip daddr %[2]s masquerade
	}
}
`

// clearRules removes the rules of an earlier run of the plugin, if they exist.
const clearRules = "add table ip operon-ports\ndelete table ip operon-ports\n"

// openPorts forwards ports of the node to a pod.
func openPorts(s Settings, container string, address netip.Addr, ports []Port) (err error) {
	ports, err = asked(s, ports)
	if err != nil || len(ports) == 0 {
		return err
	}
	data, err := json.Marshal(opened{address, ports})
	if err != nil {
		return err
	}
	unlock, err := lock(s.Ports)
	if err != nil {
		return err
	}
	defer unlock()
	file := filepath.Join(s.Ports, container)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return err
	}
	if err := leadPorts(s); err != nil {
		return errors.Join(err, os.Remove(file))
	}
	return forgetPackets(ports)
}

// asked returns the requested ports. The runtime also lists the other ports.
func asked(s Settings, ports []Port) ([]Port, error) {
	var wanted []Port
	for _, port := range ports {
		if port.HostPort == 0 {
			continue
		}
		switch port.HostIP {
		case "", "0.0.0.0", "::", s.Gateway.String():
		default:
			return nil, fmt.Errorf("hostPort %d: the node has no address %s but %s: leave hostIP out", port.HostPort, port.HostIP, s.Gateway)
		}
		port.Protocol = strings.ToLower(port.Protocol)
		wanted = append(wanted, port)
	}
	return wanted, nil
}

// closePorts removes the forwarded ports of a pod, if it has any.
func closePorts(s Settings, container string) error {
	unlock, err := lock(s.Ports)
	if err != nil {
		return err
	}
	defer unlock()
	err = os.Remove(filepath.Join(s.Ports, container))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return leadPorts(s)
}

// leadPorts replaces all rules at once by the rules for the files. The caller must hold the lock.
func leadPorts(s Settings) error {
	elements, err := portElements(s.Ports)
	if err != nil {
		return err
	}
	rules := clearRules
	if len(elements) > 0 {
		rules += fmt.Sprintf(portRules, strings.Join(elements, ", "), s.Gateway, s.Subnet)
	}
	nft := exec.Command("nft", "-f", "-")
	nft.Stdin = strings.NewReader(rules)
	said, err := nft.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("hostPort requires the program nft, which is not installed (Debian: apt install nftables)")
	}
	if err != nil {
		return fmt.Errorf("hostPort: nft: %w: %s", err, said)
	}
	return nil
}

// portElements returns the elements of the map in the rules.
func portElements(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var elements []string
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var pod opened
		if err := json.Unmarshal(data, &pod); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, port := range pod.Ports {
			elements = append(elements, fmt.Sprintf("%s . %d : %s . %d", port.Protocol, port.HostPort, pod.Address, port.ContainerPort))
		}
	}
	return elements, nil
}

// forgetPackets makes the kernel apply the rules again to a continuing flow of UDP packets. Otherwise it would continue to
// treat them as packets to the pod that had the port before.
func forgetPackets(ports []Port) error {
	for _, port := range ports {
		if port.Protocol != "udp" {
			continue
		}
		filter := &netlink.ConntrackFilter{}
		err := errors.Join(filter.AddProtocol(unix.IPPROTO_UDP), filter.AddPort(netlink.ConntrackOrigDstPort, port.HostPort))
		if err != nil {
			return err
		}
		if _, err := netlink.ConntrackDeleteFilters(netlink.ConntrackTable, unix.AF_INET, filter); err != nil {
			return fmt.Errorf("hostPort %d: forget earlier packets: %w", port.HostPort, err)
		}
	}
	return nil
}
