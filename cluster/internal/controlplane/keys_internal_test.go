package controlplane

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"

	"github.com/operon-framework/operon/cluster/internal/pki"
)

// A start that ends between two files, because it is killed or a file cannot be written, leaves a state from which the next
// start can continue.
func TestKeysOfAStartThatWasCutOff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := &keys{dir: dir}
	if err := os.Mkdir(k.key(caFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := openKeys(dir, nil); err == nil {
		t.Fatal("the authority's key is a directory, and no error")
	}
	if err := os.Remove(k.key(caFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := openKeys(dir, nil); err != nil {
		t.Error(err)
	}
}

// A client certificate of the cluster's authority is not accepted as the front proxy's, which may name any user.
func TestTheFrontProxyHasAnAuthorityOfItsOwn(t *testing.T) {
	t.Parallel()
	k, err := openKeys(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	trusted := apiServerSettings(&Config{}, k, "")
	if trusted["requestheader-client-ca-file"] == trusted["client-ca-file"] {
		t.Error("clients and the front proxy have one authority")
	}
	pair, err := tls.LoadX509KeyPair(k.cert(proxyFile), k.key(proxyFile))
	if err != nil {
		t.Fatal(err)
	}
	for ca, want := range map[*pki.Authority]bool{k.proxyCA: true, k.ca: false} {
		_, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: ca.Pool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		if (err == nil) != want {
			t.Errorf("the front proxy's certificate is valid: %v (%v), want %v", err == nil, err, want)
		}
	}
}
