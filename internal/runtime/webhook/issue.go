package webhook

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"fmt"
	"math/big"
	"net"
	"time"

	"github.com/operon-framework/operon/internal/core/rotation"
)

// authority is a CA with its key.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// host is the one name or address that certificates are for.
type host string

// covered reports whether a certificate is for the host.
func (h host) covered(by *x509.Certificate) error { return by.VerifyHostname(string(h)) }

// name writes the host into a leaf.
func (h host) name(template *x509.Certificate) {
	if ip := net.ParseIP(string(h)); ip != nil {
		template.IPAddresses = []net.IP{ip}
		return
	}
	template.DNSNames = []string{string(h)}
}

// nowhere is a domain that does not exist.
const nowhere = "invalid"

// confine allows a CA to sign for the host only, so that its key cannot be used elsewhere.
func (h host) confine(template *x509.Certificate) {
	template.PermittedDNSDomainsCritical = true
	if ip := net.ParseIP(string(h)); ip != nil {
		bits := 8 * len(shortest(ip))
		template.PermittedIPRanges = []*net.IPNet{{IP: shortest(ip), Mask: net.CIDRMask(bits, bits)}}
		template.PermittedDNSDomains = []string{nowhere}
		return
	}
	template.PermittedDNSDomains = []string{string(h)}
	template.ExcludedIPRanges = []*net.IPNet{
		{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)},
		{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)},
	}
}

func shortest(ip net.IP) net.IP {
	if short := ip.To4(); short != nil {
		return short
	}
	return ip
}

// issuer makes certificates.
type issuer struct {
	times rotation.Times
	host  host
	name  string
}

// authority creates a CA.
func (i issuer) authority(now time.Time) (*authority, error) {
	template, key, err := i.template(now, now.Add(i.times.CA), "CA")
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign
	i.host.confine(template)
	cert, err := sign(template, template, key, key)
	return &authority{cert: cert, key: key}, err
}

// leaf creates the certificate that is served, signed by a CA.
func (i issuer) leaf(by *authority, now time.Time) (*tls.Certificate, error) {
	expires := i.times.Expiry(certificateOf(by.cert, i.times), now)
	template, key, err := i.template(now, expires, "")
	if err != nil {
		return nil, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	i.host.name(template)
	cert, err := sign(template, by.cert, key, by.key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key, Leaf: cert}, nil
}

func (i issuer) template(now, expires time.Time, what string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, err
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: fmt.Sprintf("%.40s webhook %s %.8x", i.name, what, serial)},
		NotBefore:    now.Add(-i.times.Skew),
		NotAfter:     expires,
	}, key, nil
}

func sign(template, parent *x509.Certificate, key, by *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	return x509.ParseCertificate(der)
}

// idOf returns an ID that identifies a certificate.
func idOf(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.Raw)
	return hex.EncodeToString(sum[:8])
}

// certificateOf returns the data of a certificate that decisions need.
func certificateOf(cert *x509.Certificate, times rotation.Times) rotation.Certificate {
	return rotation.Certificate{ID: idOf(cert), Issued: cert.NotBefore.Add(times.Skew), Expires: cert.NotAfter}
}
