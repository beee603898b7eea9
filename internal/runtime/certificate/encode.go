package certificate

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	"github.com/operon-framework/operon/internal/core/rotation"
)

// ID returns an ID that identifies a certificate.
func ID(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.Raw)
	return hex.EncodeToString(sum[:8])
}

// Of returns the data of a certificate that decisions need.
func Of(cert *x509.Certificate, times rotation.Times) rotation.Certificate {
	return rotation.Certificate{ID: ID(cert), Issued: cert.NotBefore.Add(times.Skew), Expires: cert.NotAfter}
}

// Contains reports whether a bundle in PEM has the certificate with an ID.
func Contains(bundle []byte, id string) bool {
	certs, err := ParseCertificates(bundle)
	if err != nil {
		return false
	}
	for _, cert := range certs {
		if ID(cert) == id {
			return true
		}
	}
	return false
}

// ParseAuthorities parses one or more CA certificates.
func ParseAuthorities(data []byte) ([]*x509.Certificate, error) {
	all, err := ParseCertificates(data)
	if err == nil && slices.ContainsFunc(all, func(cert *x509.Certificate) bool { return !cert.IsCA }) {
		return nil, errors.New("there is a certificate of no CA in it")
	}
	return all, err
}

// ParseCertificates parses one or more certificates. In the bundle of a server whose certificate is signed by itself, such as those of
// cert-manager's SelfSigned issuers, that certificate stands in place of a CA.
func ParseCertificates(data []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		all = append(all, cert)
	}
	if len(all) == 0 {
		return nil, errors.New("there is no certificate in it")
	}
	return all, nil
}

// ParseLeaf parses a certificate for hosts, with its key.
func ParseLeaf(cert, key []byte, hosts Hosts) (*tls.Certificate, error) {
	leaf, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("the certificate and its key do not match: %w", err)
	}
	return &leaf, hosts.Covered(leaf.Leaf)
}

// ParseKey parses a private key.
func ParseKey(data []byte) (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errors.New("there is no key in it")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("it contains no PKCS #8 key")
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("its key is of another kind than ECDSA")
	}
	return key, nil
}

// EncodeKey encodes a private key in the format that ParseKey reads.
func EncodeKey(key crypto.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// Encode encodes certificates in the format that API servers read.
func Encode(certs ...*x509.Certificate) []byte {
	var all bytes.Buffer
	for _, cert := range certs {
		all.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}))
	}
	return all.Bytes()
}
