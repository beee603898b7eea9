package webhook

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/core/rotation"
	"github.com/operon-framework/operon/internal/runtime/certificate"
)

const testHost = "asked.here.svc"

var testIssuer = issuer{certificate.Issuer{Times: rotation.DefaultTimes, Hosts: certificate.Hosts{testHost}, Name: "op"}}

// life returns the stored data after each of the actions of a rotation.
func life(t testing.TB) []*kept {
	t.Helper()
	var all []*kept
	var k *kept
	now := time.Now()
	for _, do := range []rotation.Action{rotation.Make, rotation.Renew, rotation.Introduce, rotation.Publish, rotation.Promote, rotation.Introduce, rotation.Promote, rotation.Drop} {
		after, err := testIssuer.carryOut(do, k, now)
		if err != nil {
			t.Fatal(err)
		}
		k = after
		all = append(all, k)
		now = now.Add(24 * time.Hour)
	}
	return all
}

// Data that is written is read back unchanged.
func TestKeptIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for i, k := range life(t) {
		data, err := k.data()
		if err != nil {
			t.Fatal(err)
		}
		if len(data) != 6 {
			t.Errorf("%d: %d keys are written, want all 6: one that is left out of an apply may stay", i, len(data))
		}
		read, err := readKept(data, testIssuer.Hosts)
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		before, after := stateOf(k, nil, testIssuer.Times), stateOf(read, nil, testIssuer.Times)
		if before.Signing != after.Signing || before.Leaf != after.Leaf || len(before.Former) != len(after.Former) || (before.Next == nil) != (after.Next == nil) || !before.Published.Truncate(time.Second).Equal(after.Published) {
			t.Errorf("%d: %+v was read as %+v", i, before, after)
		}
	}
}

// Each leaf is trusted by the bundle of its moment, by the one before, which API servers may still
// have, and by the one after, because replicas may still serve the leaf then.
func TestLeavesAreTrustedByTheBundlesAround(t *testing.T) {
	t.Parallel()
	all := life(t)
	for i := 1; i < len(all)-1; i++ {
		for _, bundle := range all[i-1 : i+2] {
			pool := x509.NewCertPool()
			pool.AppendCertsFromPEM(certificate.Encode(bundle.authorities()...))
			if _, err := all[i].leaf.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: testHost, CurrentTime: all[i].leaf.Leaf.NotBefore.Add(testIssuer.Times.Skew + time.Minute)}); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		}
	}
}

// Certificates are also valid by clocks that are behind by nearly an hour.
func TestCertificatesAreValidByOtherClocks(t *testing.T) {
	t.Parallel()
	now := time.Now()
	made, err := testIssuer.carryOut(rotation.Make, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(made.signing.Cert)
	for _, behind := range []time.Duration{0, 59 * time.Minute} {
		if _, err := made.leaf.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: testHost, CurrentTime: now.Add(-behind)}); err != nil {
			t.Errorf("by a clock that is behind by %s: %v", behind, err)
		}
	}
}

// Unusable data is rejected with an error that names the problem, and never contains a key.
func TestWhatIsKeptHasToFit(t *testing.T) {
	t.Parallel()
	all := life(t)
	first, err := all[0].data()
	if err != nil {
		t.Fatal(err)
	}
	last, err := all[len(all)-1].data()
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]map[string][]byte{
		"no certificates yet":    {keyBundle: nil, keyLeaf: nil},
		"no certificate in it":   {keyBundle: []byte("nonsense")},
		"of no CA":               {keyBundle: first[keyLeaf]},
		"no key in it":           {keyCAKey: nil},
		"no PKCS #8 key":         {keyCAKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("nonsense")})},
		"has this key":           {keyCAKey: last[keyLeafKey]},
		"do not match":           {keyLeafKey: first[keyCAKey]},
		"is not signed by the C": {keyLeaf: last[keyLeaf], keyLeafKey: last[keyLeafKey]},
		"next-ca.key: no certif": {keyNextKey: last[keyCAKey]},
	} {
		data := map[string][]byte{}
		for name, content := range first {
			data[name] = content
		}
		for name, content := range change {
			data[name] = content
		}
		_, err := readKept(data, testIssuer.Hosts)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "PRIVATE") {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if _, err := readKept(first, certificate.Hosts{"another.here.svc"}); err == nil || !strings.Contains(err.Error(), "another.here.svc") {
		t.Errorf("error %v for another host", err)
	}
}

// For any stored data, reading it neither panics nor accepts anything that cannot be served.
func FuzzReadKept(f *testing.F) {
	all := life(f)
	for _, k := range all {
		data, err := k.data()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[keyBundle], data[keyCAKey], data[keyNextKey], data[keyLeaf], data[keyLeafKey])
	}
	f.Add([]byte(nil), []byte(nil), []byte(nil), []byte(nil), []byte(nil))
	f.Fuzz(func(t *testing.T, bundle, caKey, nextKey, leaf, leafKey []byte) {
		data := map[string][]byte{keyBundle: bundle, keyCAKey: caKey, keyNextKey: nextKey, keyLeaf: leaf, keyLeafKey: leafKey}
		k, err := readKept(data, testIssuer.Hosts)
		if err != nil {
			return
		}
		if k.leaf == nil || k.signing == nil || testIssuer.Hosts.Covered(k.leaf.Leaf) != nil {
			t.Fatalf("passed %+v", k)
		}
		again, err := k.data()
		if err != nil {
			t.Fatal(err)
		}
		twice, err := readKept(again, testIssuer.Hosts)
		if err != nil || !bytes.Equal(certificate.Encode(twice.authorities()...), certificate.Encode(k.authorities()...)) {
			t.Fatalf("read again: %v", err)
		}
	})
}
