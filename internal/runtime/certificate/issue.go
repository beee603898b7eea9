package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"time"

	"github.com/operon-framework/operon/internal/core/rotation"
)

// Authority is a CA with its key.
type Authority struct {
	Cert *x509.Certificate
	Key  *ecdsa.PrivateKey
}

// Issuer creates certificates for hosts.
type Issuer struct {
	Times rotation.Times
	Hosts Hosts
	// Name is the beginning of the subjects. Only its first 40 bytes are used.
	Name string
}

// Authority creates a CA that can sign for the hosts only.
func (i Issuer) Authority(now time.Time) (*Authority, error) {
	template, key, err := i.template(now, now.Add(i.Times.CA), "CA")
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign
	i.Hosts.confine(template)
	cert, err := sign(template, template, key, key)
	return &Authority{Cert: cert, Key: key}, err
}

// Leaf creates the certificate that is served, signed by a CA. It does not expire after its CA.
func (i Issuer) Leaf(by *Authority, now time.Time) (*tls.Certificate, error) {
	template, key, err := i.template(now, i.Times.Expiry(Of(by.Cert, i.Times), now), "")
	if err != nil {
		return nil, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	i.Hosts.name(template)
	cert, err := sign(template, by.Cert, key, by.Key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key, Leaf: cert}, nil
}

func (i Issuer) template(now, expires time.Time, what string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
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
		Subject:      pkix.Name{CommonName: fmt.Sprintf("%.40s webhook %s %.8x", i.Name, what, serial)},
		NotBefore:    now.Add(-i.Times.Skew),
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

// Hosts are the names or addresses that a certificate is for.
type Hosts []string

// Covered returns an error if a certificate is not for all hosts.
func (h Hosts) Covered(by *x509.Certificate) error {
	for _, one := range h {
		if err := by.VerifyHostname(one); err != nil {
			return err
		}
	}
	return nil
}

// split returns the addresses and the names.
func (h Hosts) split() (addresses []net.IP, names []string) {
	for _, one := range h {
		if ip := net.ParseIP(one); ip != nil {
			addresses = append(addresses, shortest(ip))
			continue
		}
		names = append(names, one)
	}
	return addresses, names
}

// name writes the hosts into a leaf.
func (h Hosts) name(template *x509.Certificate) {
	template.IPAddresses, template.DNSNames = h.split()
}

// nowhere is a domain that does not exist.
const nowhere = "invalid"

// confine allows a CA to sign for the hosts only, so that its key cannot be used elsewhere.
func (h Hosts) confine(template *x509.Certificate) {
	template.PermittedDNSDomainsCritical = true
	addresses, names := h.split()
	template.PermittedDNSDomains = names
	if len(names) == 0 {
		template.PermittedDNSDomains = []string{nowhere}
	}
	for _, ip := range addresses {
		bits := 8 * len(ip)
		template.PermittedIPRanges = append(template.PermittedIPRanges, &net.IPNet{IP: ip, Mask: net.CIDRMask(bits, bits)})
	}
	if len(addresses) == 0 {
		template.ExcludedIPRanges = []*net.IPNet{
			{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)},
			{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)},
		}
	}
}

func shortest(ip net.IP) net.IP {
	if short := ip.To4(); short != nil {
		return short
	}
	return ip
}
