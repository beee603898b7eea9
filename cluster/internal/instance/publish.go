package instance

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// published is a port of the node that is reachable through a port of this machine.
type published struct {
	listener net.Listener
	port     uint16
}

// String returns the address of the listener and the port of the node.
func (p published) String() string { return fmt.Sprintf("%s:%d", p.listener.Addr(), p.port) }

// parsePublication reads [IP:]HOSTPORT:NODEPORT.
func parsePublication(text string) (at netip.AddrPort, port uint16, err error) {
	wrong := mistake("publish", "%q: want HOSTPORT:NODEPORT, such as 8080:30080, with ports up to %d, optionally after an address of this machine, such as 127.0.0.1:8080:30080; only TCP is supported", text, maxPort)
	last := strings.LastIndexByte(text, ':')
	if last < 0 {
		return at, 0, wrong
	}
	here, there := text[:last], text[last+1:]
	if !strings.Contains(here, ":") {
		here = "127.0.0.1:" + here
	}
	if at, err = netip.ParseAddrPort(here); err != nil {
		return at, 0, wrong
	}
	number, err := strconv.ParseUint(there, 10, 16)
	if err != nil || number == 0 {
		return at, 0, wrong
	}
	return at, uint16(number), nil
}

// publishPorts listens on the ports to publish. Connections wait until they are served.
func publishPorts(spec Spec) (all []published, err error) {
	defer func() {
		if err == nil {
			return
		}
		for _, p := range all {
			p.listener.Close()
		}
	}()
	for _, text := range spec.Publish {
		at, port, err := parsePublication(text)
		if err != nil {
			return all, err
		}
		network := "tcp6"
		if at.Addr().Is4() { // with tcp, 0.0.0.0 would also include all IPv6 addresses
			network = "tcp4"
		}
		listener, err := net.Listen(network, at.String())
		if err != nil {
			return all, fmt.Errorf("%s cannot be published: %w; choose another port of this machine, or 0 for a free one", text, err)
		}
		all = append(all, published{listener, port})
	}
	return all, nil
}

// servePublished forwards published ports to the node. A connection counts as use of the cluster as long as it lasts.
func (c *containers) servePublished(ctx context.Context) {
	for _, p := range c.published {
		c.node.Publish(ctx, p.listener, p.port, c.use.add)
	}
}

// checkPublished returns an error if a port to publish is invalid.
func (s *Spec) checkPublished() error {
	if s.Node != Container && len(s.Publish) > 0 {
		return mistake("publish", "%s: simulated pods serve nothing; add --node container", s.Publish[0])
	}
	for _, text := range s.Publish {
		if _, _, err := parsePublication(text); err != nil {
			return err
		}
	}
	return nil
}
