package supervisor

import (
	"context"
	"fmt"
	"os"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	"k8s.io/klog/v2"

	"github.com/operon-framework/operon/cluster/internal/node/settings"
)

// corefile answers for names in the cluster. Others are refused at once, unless there is a way
// out of the node's network. Answers are not kept, so that a name is there as soon as its
// Service is.
const corefile = `.:53 {
	bind %s
	errors
	kubernetes %s in-addr.arpa {
		kubeconfig %s
		pods insecure
		ttl 5
		%s
	}
	loadbalance
	%s
}
`

// runDNS answers for the names of Services and pods.
func runDNS(ctx context.Context, dir settings.Dir, s settings.Settings) error {
	caddy.Quiet, dnsserver.Quiet = true, true
	addresses, others := elsewhere(s)
	contents := fmt.Sprintf(corefile, settings.Address, settings.Domain, dir.Kubeconfig(settings.CoreDNS), addresses, others)
	server, err := caddy.Start(caddy.CaddyfileInput{
		Contents: []byte(contents), Filepath: "Corefile", ServerTypeName: "dns",
	})
	if err != nil {
		return err
	}
	klog.ClearLogger() // CoreDNS puts its own in place for all of the process, which leaves out what is said of what
	context.AfterFunc(ctx, func() { server.Stop() })
	server.Wait()
	return nil
}

// forwarding passes questions on to one that answers always, if need be that it could not: nobody
// has to check whether it is there, nor to ask it again.
const forwarding = `forward . %s {
		max_fails 0
		max_connect_attempts 1
		read_timeout %s
	}`

// elsewhere is what is done with addresses and names that are not the cluster's.
func elsewhere(s settings.Settings) (addresses, others string) {
	if !s.Egress {
		return "", ""
	}
	return "fallthrough in-addr.arpa", fmt.Sprintf(forwarding, settings.Resolver, 2*settings.ResolveTimeout)
}

// writeResolver writes what pods get that ask as the node does.
func writeResolver(dir settings.Dir) error {
	return os.WriteFile(dir.File("resolv.conf"), []byte("nameserver "+settings.DNS.String()+"\n"), 0o644)
}
