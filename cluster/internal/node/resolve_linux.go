package node

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/miekg/dns"
	"k8s.io/klog/v2"

	"github.com/operon-framework/operon/cluster/internal/node/settings"
)

const (
	// resolverFile names the DNS servers of this machine.
	resolverFile = "/etc/resolv.conf"
	// maxQuestions is the maximum number of DNS queries that are forwarded at the same time.
	maxQuestions = 256
)

// atMost drops queries above a maximum of concurrent ones: pods may send any number, and resolvers repeat their queries.
func atMost(number int, handler dns.HandlerFunc) dns.HandlerFunc {
	slots := make(chan struct{}, number)
	return func(w dns.ResponseWriter, question *dns.Msg) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			handler(w, question)
		default:
		}
	}
}

// Resolve serves DNS queries in the node's network until ctx ends, by querying the DNS servers of this machine. CoreDNS
// forwards names outside of the cluster to it.
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
		listener.Close()
		return fmt.Errorf("names of outside: %w", err)
	}
	handler := atMost(maxQuestions, func(w dns.ResponseWriter, question *dns.Msg) {
		_ = w.WriteMsg(resolve(ctx, resolvers(), w.RemoteAddr().Network(), question)) // the client may have disconnected
	})
	for _, server := range []*dns.Server{{Listener: listener}, {PacketConn: packets}} {
		server.Handler = handler
		context.AfterFunc(ctx, func() { server.Shutdown() })
		go func() {
			if err := server.ActivateAndServe(); err != nil && ctx.Err() == nil {
				klog.ErrorS(err, "Names outside of the cluster are no longer resolved")
			}
		}()
	}
	return nil
}

// resolvers returns the DNS servers of this machine. It reads the file each time: they change if the machine moves to another
// network.
func resolvers() []string {
	config, err := dns.ClientConfigFromFile(resolverFile)
	if err != nil {
		klog.ErrorS(err, "Names outside of the cluster cannot be resolved")
		return nil
	}
	for i, server := range config.Servers {
		config.Servers[i] = net.JoinHostPort(server, config.Port)
	}
	return config.Servers
}

// resolve forwards a query. A slow server may still answer after the next one was queried.
func resolve(ctx context.Context, servers []string, network string, question *dns.Msg) *dns.Msg {
	ctx, cancel := context.WithTimeout(ctx, settings.ResolveTimeout)
	defer cancel()
	answers := make(chan *dns.Msg, len(servers))
	asked, failed := 0, 0
	for failed < len(servers) {
		if asked < len(servers) {
			server := servers[asked]
			go func() { answers <- ask(ctx, network, server, question.Copy()) }()
			asked++
		}
		select {
		case answer := <-answers:
			if answer != nil {
				return answer
			}
			failed++
		case <-time.After(timing.answerTimeout):
		}
	}
	return new(dns.Msg).SetRcode(question, dns.RcodeServerFailure)
}

// ask returns the response of one server, or nil if another server may have a better one.
func ask(ctx context.Context, network, server string, question *dns.Msg) *dns.Msg {
	client := dns.Client{Net: network, Timeout: settings.ResolveTimeout}
	answer, _, err := client.ExchangeContext(ctx, question, server)
	if err != nil {
		klog.V(2).InfoS("A name was not resolved", "by", server, "cause", err)
		return nil
	}
	if answer.Rcode == dns.RcodeServerFailure || answer.Rcode == dns.RcodeRefused || answer.Rcode == dns.RcodeNotImplemented {
		return nil
	}
	return answer
}
