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

// corefile configures answers for names in the cluster. Queries for other names are refused at once unless egress is enabled.
// Answers are not cached, so a name resolves as soon as its Service exists.
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

// runDNS serves DNS for Services and pods.
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
	klog.ClearLogger() // CoreDNS sets its own logger for the whole process, which omits the keys and values of log lines
	context.AfterFunc(ctx, func() { server.Stop() })
	server.Wait()
	return nil
}

// forwarding forwards queries to Resolver, which always answers, if necessary with an error. Therefore health checks and
// repeated connection attempts are not needed.
const forwarding = `forward . %s {
		max_fails 0
		max_connect_attempts 1
		read_timeout %s
	}`

// elsewhere returns the configuration for addresses and names outside of the cluster.
func elsewhere(s settings.Settings) (addresses, others string) {
	if !s.Egress {
		return "", ""
	}
	return "fallthrough in-addr.arpa", fmt.Sprintf(forwarding, settings.Resolver, 2*settings.ResolveTimeout)
}

// writeResolver writes the resolver file for pods that use the DNS configuration of the node.
func writeResolver(dir settings.Dir) error {
	return os.WriteFile(dir.File("resolv.conf"), []byte("nameserver "+settings.DNS.String()+"\n"), 0o644)
}
