package proxy

import (
	"crypto/subtle"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
)

// route is a way to the API server: as whom, and whether the connection is to be upgraded, which
// only HTTP/1.1 can.
type route struct{ asOperator, upgraded bool }

// routes are the ways to the API server. A certificate belongs to a connection, so requests
// with credentials of their own must not share one with those of the operator.
type routes map[route]http.RoundTripper

func newRoutes(server *rest.Config) (routes, error) {
	all := routes{}
	for _, way := range []route{{}, {upgraded: true}, {asOperator: true}, {asOperator: true, upgraded: true}} {
		config := rest.CopyConfig(server)
		if !way.asOperator {
			config = rest.AnonymousClientConfig(server)
		}
		config.DisableCompression = true // of our own: what the operator asks for is passed on
		if way.upgraded {
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

// identified is the key, in a request's context, of whether it came with the proxy's token.
type identified struct{}

// isOperator tells whether a request carries the token that stands for the operator.
func (p *Proxy) isOperator(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare([]byte(token), []byte(p.token)) == 1
}

// RoundTrip implements http.RoundTripper.
func (all routes) RoundTrip(r *http.Request) (*http.Response, error) {
	asOperator, _ := r.Context().Value(identified{}).(bool)
	return all[route{asOperator: asOperator, upgraded: r.Header.Get("Upgrade") != ""}].RoundTrip(r)
}
