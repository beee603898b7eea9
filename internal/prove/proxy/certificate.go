package proxy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// loopback is the only address that a proxy listens on.
const loopback = "127.0.0.1"

// pair is the certificate of a proxy and the authority that signed it. The keys are never
// written to a file.
type pair struct {
	// authority is the certificate of the authority, in PEM.
	authority []byte
	server    tls.Certificate
}

// newPair creates an authority and a serving certificate. One certificate for both would be enough for
// clients in Go, but other clients reject an authority as a serving certificate.
func newPair() (*pair, error) {
	authority, authorityKey, err := sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "operon-prove"}, IsCA: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil, nil)
	if err != nil {
		return nil, err
	}
	server, key, err := sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "operon-prove-proxy"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.ParseIP(loopback)}, DNSNames: []string{"localhost"},
	}, authority, authorityKey)
	if err != nil {
		return nil, err
	}
	return &pair{
		authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Raw}),
		server:    tls.Certificate{Certificate: [][]byte{server.Raw, authority.Raw}, PrivateKey: key, Leaf: server},
	}, nil
}

// sign completes and signs a certificate. Without a parent, it is self-signed.
func sign(template, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, nil, err
	}
	template.NotBefore, template.NotAfter = time.Now().Add(-timing.validity), time.Now().Add(timing.validity)
	template.BasicConstraintsValid = true
	if parent == nil {
		parent, parentKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return nil, nil, err
	}
	made, err := x509.ParseCertificate(der)
	return made, key, err
}
