package project

import (
	"net"
	"strconv"
)

// Placing configures how an operator runs on a machine that is not its own.
type Placing struct {
	// Metrics and Health are the addresses of the servers with these names, HOST:PORT.
	Metrics, Health string
	// Webhooks is the address of the webhook server of an operator built with Operon, HOST:PORT. If it is empty, there are no
	// webhooks.
	Webhooks string
	// Service is the name of a Service that leads to Webhooks on the same port, for an operator that is an API server.
	Service string
	// Elect enables leader election.
	Elect bool
	// Secure makes a controller-runtime operator serve metrics with TLS, to clients that the API server authorizes.
	Secure bool
}

// operons lists the flags that every operator built with Operon has.
var operons = map[string]bool{"metrics-bind-address": true, "health-probe-bind-address": true, "leader-elect": true}

// Flags returns the arguments for a placing that the operator supports: all of them for operators built with Operon, and for
// others those that their main package mentions.
func (p *Project) Flags(place Placing) []string {
	all := []struct{ name, value string }{
		{"metrics-bind-address", place.Metrics},
		{"health-probe-bind-address", place.Health},
		{"leader-elect", strconv.FormatBool(place.Elect)},
		{"metrics-secure", strconv.FormatBool(place.Secure)},
		// These flags are from kubebuilder's layout v2.
		{"metrics-addr", place.Metrics},
		{"enable-leader-election", strconv.FormatBool(place.Elect)},
	}
	var known []string
	if place.Webhooks != "" && p.Module.Framework == Operon {
		known = append(known, "--webhook-bind-address="+place.Webhooks)
		known = append(known, p.front(place)...)
	}
	for _, flag := range all {
		if p.Module.Framework == Operon && operons[flag.name] || p.Main.Mentions(flag.name) {
			known = append(known, "--"+flag.name+"="+flag.value)
		}
	}
	return known
}

// front returns the flags of an operator that clients reach through a Service wherever it runs, because it is an API server.
func (p *Project) front(place Placing) []string {
	_, port, err := net.SplitHostPort(place.Webhooks)
	if err != nil || place.Service == "" || !p.Main.ServesAPI() {
		return nil
	}
	return []string{"--webhook-service=" + place.Service, "--webhook-service-port=" + port}
}
