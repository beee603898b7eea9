// Package pki creates the keys and certificates of one local cluster: a certificate authority that no other software trusts,
// and the leaf certificates that the components present to each other.
//
// All keys are ECDSA P-256: creating one takes well under a millisecond, while an RSA key takes about a hundred, and a cluster
// needs a dozen keys before it can serve. Private keys are written with mode 0600.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Authority signs the certificates of one cluster.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Leaf describes a certificate to issue.
type Leaf struct {
	// CommonName is the user name that Kubernetes reads from a client certificate.
	CommonName string
	// Organizations are the groups that Kubernetes reads from a client certificate.
	Organizations []string
	// Hosts are the DNS names and IP addresses that a serving certificate is valid for. A leaf without hosts cannot serve.
	Hosts []string
}

// Pair is a certificate with its private key, both PEM-encoded.
type Pair struct {
	Cert, Key []byte
}

// NewAuthority creates an authority whose certificate has the given common name.
func NewAuthority(commonName string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate the key of %s: %w", commonName, err)
	}
	template, err := newTemplate(pkix.Name{CommonName: commonName})
	if err != nil {
		return nil, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("self-sign %s: %w", commonName, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", commonName, err)
	}
	return &Authority{cert: cert, key: key}, nil
}

// Issue creates a new key and a certificate for it. A leaf with hosts may be a server and a client. A leaf without hosts may
// only be a client.
func (a *Authority) Issue(leaf Leaf) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("generate the key of %s: %w", leaf.CommonName, err)
	}
	template, err := newTemplate(pkix.Name{CommonName: leaf.CommonName, Organization: leaf.Organizations})
	if err != nil {
		return Pair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(leaf.Hosts) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	for _, host := range leaf.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
			continue
		}
		template.DNSNames = append(template.DNSNames, host)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("sign %s: %w", leaf.CommonName, err)
	}
	return encode(der, key)
}

// Pair returns the authority's own certificate and key.
func (a *Authority) Pair() (Pair, error) {
	return encode(a.cert.Raw, a.key)
}

// Pool returns a pool that trusts only this authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// ParseAuthority parses an authority that Pair returned.
func ParseAuthority(p Pair) (*Authority, error) {
	pair, err := p.TLS()
	if err != nil {
		return nil, err
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the authority's key is a %T, not an ECDSA key", pair.PrivateKey)
	}
	cert, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return nil, fmt.Errorf("parse the authority's certificate: %w", err)
	}
	return &Authority{cert: cert, key: key}, nil
}

// TLS returns the pair in the form that crypto/tls uses.
func (p Pair) TLS() (tls.Certificate, error) {
	cert, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("read a key pair: %w", err)
	}
	return cert, nil
}

// NewKey returns a new private key, PEM-encoded, for signing service account tokens.
func NewKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate a key: %w", err)
	}
	return encodeKey(key)
}

// WriteFile writes secret data with mode 0600, even if the file existed with a wider mode. The file is written completely or
// not at all, even if this process is interrupted or the machine loses power: with --data, a cluster whose keys are lost could
// not start again.
func WriteFile(path string, data []byte) error {
	next := path + ".next"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) { // an existing file would keep its mode
		return err
	}
	err := writeSynced(next, data)
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(next))
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close()) // makes the new name durable
}

// writeSynced writes a new file to the disk.
func writeSynced(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Sync(), file.Close())
}

func newTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("draw a serial number: %w", err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-timing.clockSkew),
		NotAfter:     now.Add(Lifetime),
	}, nil
}

func encode(der []byte, key *ecdsa.PrivateKey) (Pair, error) {
	keyPEM, err := encodeKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), Key: keyPEM}, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
