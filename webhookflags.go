package operon

import (
	"flag"
	"os"
)

// webhookFlags are the flags of Main for webhooks.
type webhookFlags struct {
	address, name, service, certs string
	port                          int
}

// define adds the flags to a set.
//
// Outside of a cluster, webhooks are off by default: an API server on another machine could not reach this one, and would
// reject every object of the kind.
func (f *webhookFlags) define(set *flag.FlagSet, name string) {
	address, service := "0", ""
	if insideCluster() {
		service = Name(63, name, "webhook") // the maximum length of a Service's name
	}
	if insideCluster() && os.Getenv("ENABLE_WEBHOOKS") != "false" {
		address = ":9443"
	}
	set.StringVar(&f.address, "webhook-bind-address", address, "webhook bind `ADDRESS`, 0 disables; outside a cluster it must be loopback on the API server's host")
	set.StringVar(&f.name, "webhook-name", "", "`NAME` of what is registered (default the operator's name and its namespaces)")
	set.StringVar(&f.service, "webhook-service", service, "`NAME` of the Service for the webhooks, in $POD_NAMESPACE (default: API servers call the address directly)")
	set.IntVar(&f.port, "webhook-service-port", 443, "`PORT` of that Service")
	set.StringVar(&f.certs, "webhook-cert-dir", "", "`DIR` of tls.crt, tls.key and ca.crt that another program renews (default: the operator is its own CA)")
}

// config returns the settings in the flags.
func (f *webhookFlags) config() Webhooks {
	if f.address == "0" || f.address == "" {
		return Webhooks{}
	}
	return Webhooks{BindAddress: f.address, Name: f.name, Service: f.service, ServicePort: int32(f.port), CertDir: f.certs}
}
