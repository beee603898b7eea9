package serving_test

import (
	"crypto/tls"
	"crypto/x509"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/runtime/certificate"

	"github.com/operon-framework/operon/olm/internal/serving"
)

var issuer = serving.Issuer{Issuer: certificate.Issuer{
	Times: serving.DefaultTimes, Hosts: certificate.Hosts{"shop-service.shops", "shop-service.shops.svc", "shop-service.shops.svc.cluster.local"}, Name: "shop",
}}

// verify checks that API servers that trust a bundle accept a certificate at a time, by each name of the Service.
func verify(t *testing.T, data map[string][]byte, bundle []byte, now time.Time) {
	t.Helper()
	served, err := tls.X509KeyPair(data["tls.crt"], data["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(bundle)
	for _, host := range issuer.Hosts {
		if _, err := served.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: host, CurrentTime: now}); err != nil {
			t.Fatalf("%s: %s: %v", now, host, err)
		}
	}
}

// In five years, certificates are rotated at two thirds of their lives. Pods and API servers that are a day late trust each other all the
// time, because bundles have both CAs during a rotation. Nothing changes in between, and the key of no CA is stored.
func TestRotation(t *testing.T) {
	t.Parallel()
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	var stored, served map[string][]byte
	var trusted []byte
	var changes, both int
	rotated := map[string]time.Duration{}
	for now := start; now.Before(start.AddDate(5, 0, 0)); now = now.AddDate(0, 0, 1) {
		known := trusted
		made, changed, err := issuer.Decide(stored, func(id string) bool { return certificate.Contains(known, id) }, now)
		if err != nil {
			t.Fatal(err)
		}
		if served == nil {
			served, trusted = made.Data, made.Bundle
		}
		verify(t, served, trusted, now)
		if !made.Again.After(now) {
			t.Errorf("%s: the next decision is at %s", now, made.Again)
		}
		if changed {
			changes++
		}
		if _, ok := rotated[made.Hash]; !ok {
			rotated[made.Hash] = now.Sub(start)
		}
		if strings.Count(string(made.Bundle), "BEGIN CERTIFICATE") == 2 {
			both++
		}
		for name, content := range made.Data {
			if strings.Contains(string(content), "PRIVATE KEY") != strings.HasSuffix(name, ".key") {
				t.Fatalf("%s has %s", name, content)
			}
		}
		stored, served, trusted = made.Data, made.Data, made.Bundle
	}
	at := slices.Sorted(maps.Values(rotated))
	if len(at) != 4 {
		t.Fatalf("the certificates are from %v", at)
	}
	for i, want := range []time.Duration{0, 487, 974, 1461} { // and some days until API servers know the CA
		if days := at[i] / (24 * time.Hour); days < want || days > want+8 {
			t.Errorf("certificate %d is from day %d, want %d", i, days, want)
		}
	}
	if changes < 10 || changes > 16 || both < 500 {
		t.Errorf("%d changes, and on %d days both CAs are trusted", changes, both)
	}
}

// A CA that API servers do not know yet is not used.
func TestRotationWaitsForAPIServers(t *testing.T) {
	t.Parallel()
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	first, _, err := issuer.Decide(nil, nil, start)
	if err != nil {
		t.Fatal(err)
	}
	if want := start.Add(2 * 2 * 365 * 24 * time.Hour / 3); !first.Issued.Equal(start) || first.RotateAt.Sub(want).Abs() > time.Minute {
		t.Errorf("issued at %s, rotated at %s, want %s", first.Issued, first.RotateAt, want)
	}
	data := first.Data
	for day := range 30 {
		made, _, err := issuer.Decide(data, func(string) bool { return false }, first.RotateAt.AddDate(0, 0, day))
		if err != nil {
			t.Fatal(err)
		}
		if made.Hash != first.Hash || len(made.Data["next-tls.crt"]) == 0 {
			t.Fatalf("on day %d, the certificate is %s, and the next one %q", day, made.Hash, made.Data["next-tls.crt"])
		}
		data = made.Data
	}
}

// What cannot be served is replaced, and no error contains a key.
func TestUnusableCertificates(t *testing.T) {
	t.Parallel()
	now := time.Now()
	first, _, err := issuer.Decide(nil, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := issuer.Decide(nil, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"tls.crt": other.Data["tls.crt"], "tls.key": []byte("nonsense"), "olmCAKey": other.Data["olmCAKey"], "next-tls.crt": []byte("nonsense"), "former-ca.crt": []byte("nonsense"),
	} {
		data := maps.Clone(first.Data)
		data[name] = content
		if _, err := issuer.Read(data); err == nil || strings.Contains(err.Error(), "PRIVATE") {
			t.Errorf("%s: the error is %v", name, err)
		}
		made, changed, err := issuer.Decide(data, nil, now)
		if err != nil || !changed || made.Hash == first.Hash {
			t.Errorf("%s: changed: %v, error %v", name, changed, err)
		}
	}
}
