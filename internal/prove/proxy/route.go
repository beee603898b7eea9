package proxy

import (
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"
)

// route is a kind of connection to the API server: with or without the operator's credentials, and shared or not. Short
// requests use HTTP/1.1 connections, which are faster than HTTP/2 streams and can be upgraded. Watches share an HTTP/2
// connection.
type route struct{ asOperator, shared bool }

// routes contains the transport of each route. A client certificate belongs to a connection, so requests
// with their own credentials must not share a connection with requests of the operator.
type routes map[route]http.RoundTripper

func newRoutes(server *rest.Config) (routes, error) {
	all := routes{}
	for _, way := range []route{{}, {shared: true}, {asOperator: true}, {asOperator: true, shared: true}} {
		config := rest.CopyConfig(server)
		if !way.asOperator {
			config = rest.AnonymousClientConfig(server)
		}
		config.DisableCompression = true // the transport does not add compression; if the operator requests it, the header is forwarded
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
