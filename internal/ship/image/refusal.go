package image

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// refusal is the error of a registry.
type refusal struct {
	// verb is what was to be done with the image: push or read.
	verb  string
	image name.Reference
	err   error
}

const (
	verbPush = "push"
	verbRead = "read"
)

func (r refusal) String() string { return r.verb + " " + r.image.String() }

// explain returns an error that describes what went wrong, and what to do.
func (r refusal) explain(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	registry := r.image.Context().RegistryStr()
	var answer *transport.Error
	if errors.As(r.err, &answer) {
		return r.answered(registry, answer)
	}
	if untrusted(r.err) {
		return fmt.Errorf("%s: %s presents a certificate that this machine does not trust: %w; add its CA to the CAs of this machine, or set SSL_CERT_FILE to a file with it", r, registry, r.err)
	}
	var network *net.OpError
	var lookup *net.DNSError
	if errors.As(r.err, &network) || errors.As(r.err, &lookup) {
		return fmt.Errorf("%s: %s cannot be reached: %w", r, registry, r.err)
	}
	return fmt.Errorf("%s: %w", r, r.err)
}

func (r refusal) answered(registry string, answer *transport.Error) error {
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return r.unauthorized(registry, answer)
	case http.StatusNotFound:
		if r.verb == verbRead {
			return fmt.Errorf("%s: %s has no such image: %w; check its name and its tag", r, registry, answer)
		}
		return fmt.Errorf("%s: %s has no repository %s: %w; create it there, or check the name", r, registry, r.image.Context().RepositoryStr(), answer)
	}
	return fmt.Errorf("%s: %s refuses: %w", r, registry, answer)
}

// unauthorized distinguishes rejected credentials from missing ones.
func (r refusal) unauthorized(registry string, answer *transport.Error) error {
	where := "config.json of $DOCKER_CONFIG or ~/.docker"
	found, err := authn.DefaultKeychain.Resolve(r.image.Context())
	if err == nil && found == authn.Anonymous {
		return fmt.Errorf("%s: %s requires credentials, but %s has none for it; store them with `docker login %s` or a similar tool", r, registry, where, registry)
	}
	return fmt.Errorf("%s: %s rejects the credentials from %s: %w; store credentials of an account that may %s there, for example with `docker login %s`", r, registry, where, answer, r.verb, registry)
}

// untrusted reports whether an error is about a server's certificate.
func untrusted(err error) bool {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid)
}
