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

// refusal is the error of a push.
type refusal struct {
	tag name.Tag
	err error
}

// explain returns an error that describes what went wrong, and what to do.
func (r refusal) explain(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	registry := r.tag.RegistryStr()
	var answer *transport.Error
	if errors.As(r.err, &answer) {
		return r.answered(registry, answer)
	}
	if untrusted(r.err) {
		return fmt.Errorf("push %s: %s presents a certificate that this machine does not trust: %w; add its CA to the CAs of this machine, or set SSL_CERT_FILE to a file with it", r.tag, registry, r.err)
	}
	var network *net.OpError
	var lookup *net.DNSError
	if errors.As(r.err, &network) || errors.As(r.err, &lookup) {
		return fmt.Errorf("push %s: %s cannot be reached: %w", r.tag, registry, r.err)
	}
	return fmt.Errorf("push %s: %w", r.tag, r.err)
}

func (r refusal) answered(registry string, answer *transport.Error) error {
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return r.unauthorized(registry, answer)
	case http.StatusNotFound:
		return fmt.Errorf("push %s: %s has no repository %s: %w; create it there, or check the name", r.tag, registry, r.tag.RepositoryStr(), answer)
	}
	return fmt.Errorf("push %s: %s refuses: %w", r.tag, registry, answer)
}

// unauthorized distinguishes rejected credentials from missing ones.
func (r refusal) unauthorized(registry string, answer *transport.Error) error {
	where := "config.json of $DOCKER_CONFIG or ~/.docker"
	found, err := authn.DefaultKeychain.Resolve(r.tag.Context())
	if err == nil && found == authn.Anonymous {
		return fmt.Errorf("push %s: %s requires credentials, but %s has none for it; store them with `docker login %s` or a similar tool", r.tag, registry, where, registry)
	}
	return fmt.Errorf("push %s: %s rejects the credentials from %s: %w; store credentials of an account that may push there, for example with `docker login %s`", r.tag, registry, where, answer, registry)
}

// untrusted reports whether an error is about a server's certificate.
func untrusted(err error) bool {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid)
}
