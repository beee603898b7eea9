package node

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/miekg/dns"
	"k8s.io/klog/v2"

	"github.com/operon-framework/operon/cluster/node/settings"
)

const (
	// resolverFile tells whom this machine asks for names.
	resolverFile = "/etc/resolv.conf"
	// answerTimeout is how long one of those may take before the next is asked.
	answerTimeout = 3 * time.Second
)

// Resolve answers questions for names in the node's network, until ctx ends, by asking whom
// this machine asks. CoreDNS passes on to it what is not the cluster's.
func (n *Node) Resolve(ctx context.Context) error {
	listener, err := n.Listen(settings.Resolver)
	if err != nil {
		return fmt.Errorf("names of outside: %w", err)
	}
	var packets net.PacketConn
	err = n.network.do(func() error {
		packets, err = net.ListenPacket("udp4", settings.Resolver.String())
		return err
	})
	if err != nil {
		return fmt.Errorf("names of outside: %w", err)
	}
	for _, server := range []*dns.Server{{Listener: listener}, {PacketConn: packets}} {
		server.Handler = dns.HandlerFunc(func(w dns.ResponseWriter, question *dns.Msg) { resolve(ctx, w, question) })
		context.AfterFunc(ctx, func() { server.Shutdown() })
		go func() {
			if err := server.ActivateAndServe(); err != nil && ctx.Err() == nil {
				klog.ErrorS(err, "Names of outside are not answered any more")
			}
		}()
	}
	return nil
}

// resolve passes a question on. The file is read each time: a machine that moves to another
// network asks others.
func resolve(ctx context.Context, w dns.ResponseWriter, question *dns.Msg) {
	config, err := dns.ClientConfigFromFile(resolverFile)
	if err != nil {
		klog.ErrorS(err, "Names of outside cannot be asked for")
		config = &dns.ClientConfig{}
	}
	client := dns.Client{Net: w.RemoteAddr().Network(), Timeout: answerTimeout}
	for _, server := range config.Servers {
		answer, _, err := client.ExchangeContext(ctx, question, net.JoinHostPort(server, config.Port))
		if err == nil {
			_ = w.WriteMsg(answer) // who asked may be gone
			return
		}
		klog.V(2).InfoS("A name was not resolved", "by", server, "cause", err)
	}
	failed := new(dns.Msg)
	_ = w.WriteMsg(failed.SetRcode(question, dns.RcodeServerFailure))
}
