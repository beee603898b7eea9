package project

import (
	"net"
	"strconv"
)

// Placing says how an operator is to run on a machine that is not its own.
type Placing struct {
	// Metrics and Health are what the servers of that name listen at, HOST:PORT.
	Metrics, Health string
	// Webhooks is what the webhooks of an operator of Operon's listen at, HOST:PORT. Empty: there are
	// none.
	Webhooks string
	// Service is the name of a Service that leads to Webhooks under the same port, for an operator that
	// is an API server.
	Service string
	// Elect: it takes part in leader election.
	Elect bool
	// Secure: an operator of controller-runtime serves metrics by TLS, to whom the API server lets.
	Secure bool
}

// operons are the flags that every operator of Operon's has.
var operons = map[string]bool{"metrics-bind-address": true, "health-probe-bind-address": true, "leader-elect": true}

// Flags are the arguments that place the operator, of those that it understands: Operon's own
// operators all, others those that their main package mentions.
func (p *Project) Flags(place Placing) []string {
	all := []struct{ name, value string }{
		{"metrics-bind-address", place.Metrics},
		{"health-probe-bind-address", place.Health},
		{"leader-elect", strconv.FormatBool(place.Elect)},
		{"metrics-secure", strconv.FormatBool(place.Secure)},
		// As kubebuilder's layout v2 had them.
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

// front are the flags of an operator that is reached by a Service wherever it runs, as it is an API server.
func (p *Project) front(place Placing) []string {
	_, port, err := net.SplitHostPort(place.Webhooks)
	if err != nil || place.Service == "" || !p.Main.ServesAPI() {
		return nil
	}
	return []string{"--webhook-service=" + place.Service, "--webhook-service-port=" + port}
}
