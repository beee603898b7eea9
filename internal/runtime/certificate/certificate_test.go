package certificate_test

import (
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/core/rotation"
	"github.com/operon-framework/operon/internal/runtime/certificate"
)

// A bundle may have a certificate of no CA, such as one that is signed by itself, but not where a CA is needed.
func TestCertificatesOfNoCA(t *testing.T) {
	t.Parallel()
	issuer := certificate.Issuer{Times: rotation.DefaultTimes, Hosts: certificate.Hosts{"a.b.svc"}, Name: "op"}
	ca, err := issuer.Authority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := issuer.Leaf(ca, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Certificate[0]})
	if found, err := certificate.ParseCertificates(bundle); err != nil || len(found) != 1 {
		t.Errorf("it has %d certificates, %v", len(found), err)
	}
	if !certificate.Contains(bundle, certificate.ID(leaf.Leaf)) {
		t.Error("it does not contain its certificate")
	}
	if _, err := certificate.ParseAuthorities(bundle); err == nil {
		t.Error("it counts as a CA")
	}
}

// A CA can sign for its hosts and for nothing else: a stolen key cannot be used elsewhere. A certificate is for all of its hosts.
func TestACASignsForItsHostsOnly(t *testing.T) {
	t.Parallel()
	const named = "asked.here.svc"
	for _, test := range []struct{ own, others certificate.Hosts }{
		{certificate.Hosts{named}, certificate.Hosts{"other.here.svc", "example.com", "127.0.0.1", "::1"}},
		{certificate.Hosts{"127.0.0.1"}, certificate.Hosts{"127.0.0.2", "::1", "example.com", named}},
		{certificate.Hosts{"asked.here", named, named + ".cluster.local"}, certificate.Hosts{"asked.there", "here.svc", "127.0.0.1"}},
	} {
		issuer := certificate.Issuer{Times: rotation.DefaultTimes, Hosts: test.own, Name: "op"}
		ca, err := issuer.Authority(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		pool := x509.NewCertPool()
		pool.AddCert(ca.Cert)
		verify := func(hosts certificate.Hosts, name string) error {
			issuer.Hosts = hosts
			leaf, err := issuer.Leaf(ca, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			_, err = leaf.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: name})
			return err
		}
		for _, host := range test.own {
			if err := verify(test.own, host); err != nil {
				t.Errorf("of %s for %s: %v", test.own, host, err)
			}
		}
		for _, host := range test.others {
			if err := verify(certificate.Hosts{host}, host); err == nil {
				t.Errorf("of %s: a certificate for %s is valid", test.own, host)
			}
		}
	}
}
