package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

// host describes the features of a machine that a node uses.
type host struct {
	runc, proxyMode string
	keepOOMScore    bool
}

// Check returns one error that lists everything that this machine lacks for a node of real containers, or nil.
func Check() error {
	_, err := inspect()
	return err
}

func inspect() (host, error) {
	if os.Geteuid() != 0 {
		return host{}, lacking("it needs root")
	}
	capabilities, err := effective()
	if err != nil {
		return host{}, err
	}
	var missing []string
	for name, bit := range map[string]uint{"CAP_SYS_ADMIN": unix.CAP_SYS_ADMIN, "CAP_NET_ADMIN": unix.CAP_NET_ADMIN} {
		if capabilities&(1<<bit) == 0 {
			missing = append(missing, "the capability "+name)
		}
	}
	if without, err := groupsLack(); err != nil {
		return host{}, err
	} else if without != "" {
		missing = append(missing, without)
	}
	h := host{keepOOMScore: capabilities&(1<<unix.CAP_SYS_RESOURCE) == 0}
	if h.runc, err = exec.LookPath("runc"); err != nil {
		missing = append(missing, "the program runc (Debian: apt install runc)")
	}
	if h.proxyMode = proxyMode(); h.proxyMode == "" {
		missing = append(missing, "the program nft or iptables (Debian: apt install nftables)")
	}
	if len(missing) > 0 {
		return host{}, lacking("it lacks " + strings.Join(missing, ", and "))
	}
	return h, nil
}

func lacking(what string) error {
	return fmt.Errorf("this machine cannot run a container node: %s; simulated nodes (--node sim) do not need this", what)
}

// withNFT is the proxy mode that needs the program nft.
const withNFT = "nftables"

// proxyMode returns the mode in which kube-proxy can work on this machine, or the empty string. nftables is preferred: it needs
// one program and changes all rules at once.
func proxyMode() string {
	for _, mode := range []struct{ program, name string }{{"nft", withNFT}, {"iptables", "iptables"}} {
		if _, err := exec.LookPath(mode.program); err == nil {
			return mode.name
		}
	}
	return ""
}

// effective returns the effective capabilities of this process.
func effective() (uint64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, after, found := strings.Cut(string(status), "CapEff:")
	if !found {
		return 0, errors.New("/proc/self/status tells no capabilities")
	}
	var capabilities uint64
	_, err = fmt.Sscanf(after, "%x", &capabilities)
	return capabilities, err
}
