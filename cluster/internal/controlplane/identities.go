package controlplane

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/cluster/internal/pki"
)

// Server returns the URL of the API server.
func (cp *ControlPlane) Server() string { return cp.server }

// AdminConfig returns a client configuration with all permissions.
func (cp *ControlPlane) AdminConfig() *rest.Config { return rest.CopyConfig(cp.admin) }

// WriteKubeconfig writes a kubeconfig with all permissions to path, with mode 0600. Its cluster, user and context have the
// given name.
func (cp *ControlPlane) WriteKubeconfig(path, name string) error {
	return cp.keys.writeKubeconfig(path, name, cp.server, cp.keys.admin)
}

// SystemConfig returns a client configuration with all permissions, for a component that is not part of the control plane. The
// user name is "system:" followed by name.
func (cp *ControlPlane) SystemConfig(name string) (*rest.Config, error) {
	pair, err := cp.keys.ca.Issue(pki.Leaf{CommonName: SystemPrefix + name, Organizations: []string{"system:masters"}})
	if err != nil {
		return nil, err
	}
	return cp.keys.config(cp.server, pair), nil
}

// SystemPrefix is the prefix of the user names of the cluster's own components.
const SystemPrefix = "system:"

// WriteIdentity writes a kubeconfig for a user and its groups to path, with mode 0600. It uses the API server at server.
func (cp *ControlPlane) WriteIdentity(path, server, user string, groups ...string) error {
	pair, err := cp.keys.ca.Issue(pki.Leaf{CommonName: user, Organizations: groups})
	if err != nil {
		return err
	}
	return cp.keys.writeKubeconfig(path, "operon", server, pair)
}

// WriteServing writes a serving certificate for another endpoint of this cluster, its key, and the certificate of the authority
// that issues the certificates of all its clients.
func (cp *ControlPlane) WriteServing(cert, key, authority, commonName string, hosts ...string) error {
	pair, err := cp.keys.ca.Issue(pki.Leaf{CommonName: commonName, Hosts: hosts})
	if err != nil {
		return err
	}
	return errors.Join(pki.WriteFile(cert, pair.Cert), pki.WriteFile(key, pair.Key), pki.WriteFile(authority, cp.keys.caCert))
}

// Serving issues a serving certificate for another endpoint of this cluster.
func (cp *ControlPlane) Serving(commonName string, hosts ...string) (tls.Certificate, error) {
	pair, err := cp.keys.ca.Issue(pki.Leaf{CommonName: commonName, Hosts: hosts})
	if err != nil {
		return tls.Certificate{}, err
	}
	return pair.TLS()
}

// Authorities returns a pool that trusts only the certificates of this cluster.
func (cp *ControlPlane) Authorities() *x509.CertPool { return cp.keys.ca.Pool() }

// loopbackName is the server name that the API server uses for requests to itself.
const loopbackName = "apiserver-loopback-client"

// OwnComponent reports whether a request comes from the cluster itself: from the API
// server, or from a component whose user name starts with SystemPrefix.
func OwnComponent(r *http.Request) bool {
	if r.TLS == nil {
		return false
	}
	if r.TLS.ServerName == loopbackName {
		return true
	}
	certs := r.TLS.PeerCertificates
	return len(certs) > 0 && strings.HasPrefix(certs[0].Subject.CommonName, SystemPrefix)
}
