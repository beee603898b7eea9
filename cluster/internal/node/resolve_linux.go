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
	// resolverFile tells whom this machine asks for names.
	resolverFile = "/etc/resolv.conf"
	// maxQuestions is how many questions are passed on at a time.
	maxQuestions = 256
)

// atMost drops questions beyond a number at a time: pods may ask without end, and resolvers ask again.
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
		listener.Close()
		return fmt.Errorf("names of outside: %w", err)
	}
	handler := atMost(maxQuestions, func(w dns.ResponseWriter, question *dns.Msg) {
		_ = w.WriteMsg(resolve(ctx, resolvers(), w.RemoteAddr().Network(), question)) // who asked may be gone
	})
	for _, server := range []*dns.Server{{Listener: listener}, {PacketConn: packets}} {
		server.Handler = handler
		context.AfterFunc(ctx, func() { server.Shutdown() })
		go func() {
			if err := server.ActivateAndServe(); err != nil && ctx.Err() == nil {
				klog.ErrorS(err, "Names of outside are not answered any more")
			}
		}()
	}
	return nil
}

// resolvers are whom this machine asks. The file is read each time: a machine that moves to
// another network asks others.
func resolvers() []string {
	config, err := dns.ClientConfigFromFile(resolverFile)
	if err != nil {
		klog.ErrorS(err, "Names of outside cannot be asked for")
		return nil
	}
	for i, server := range config.Servers {
		config.Servers[i] = net.JoinHostPort(server, config.Port)
	}
	return config.Servers
}

// resolve passes a question on. Who is slow may still answer when the next has been asked.
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

// ask returns what one server answers, or nil where another may know more.
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
