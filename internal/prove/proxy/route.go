package proxy

import (
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"
)

// route is a way to the API server: as whom, and whether for long. What does not continue for long takes
// a connection of HTTP/1.1, which costs less time than a stream of HTTP/2 and can be upgraded. Watches
// share one of HTTP/2.
type route struct{ asOperator, shared bool }

// routes are the ways to the API server. A certificate belongs to a connection, so requests
// with credentials of their own must not share one with those of the operator.
type routes map[route]http.RoundTripper

func newRoutes(server *rest.Config) (routes, error) {
	all := routes{}
	for _, way := range []route{{}, {shared: true}, {asOperator: true}, {asOperator: true, shared: true}} {
		config := rest.CopyConfig(server)
		if !way.asOperator {
			config = rest.AnonymousClientConfig(server)
		}
		config.DisableCompression = true // of our own: what the operator asks for is passed on
		if !way.shared {
			config.NextProtos = []string{"http/1.1"}
		}
		transport, err := rest.TransportFor(config)
		if err != nil {
			return nil, fmt.Errorf("the connection to the API server: %w", err)
		}
		all[way] = transport
	}
	return all, nil
}

// RoundTrip implements http.RoundTripper.
func (all routes) RoundTrip(r *http.Request) (*http.Response, error) {
	x := exchangeOf(r)
	return all[route{asOperator: x.sender != nil, shared: x.Verb == "watch"}].RoundTrip(r)
}
