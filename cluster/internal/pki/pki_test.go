package pki

import (
	"crypto/x509"
	"encoding/pem"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestIssue(t *testing.T) {
	t.Parallel()
	ca, err := NewAuthority("test-ca")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		leaf    Leaf
		host    string
		usage   x509.ExtKeyUsage
		refused bool
	}{
		{name: "server by address", leaf: Leaf{CommonName: "s", Hosts: []string{"127.0.0.1"}}, host: "127.0.0.1", usage: x509.ExtKeyUsageServerAuth},
		{name: "server by name", leaf: Leaf{CommonName: "s", Hosts: []string{"localhost"}}, host: "localhost", usage: x509.ExtKeyUsageServerAuth},
		{name: "server by another name", leaf: Leaf{CommonName: "s", Hosts: []string{"localhost"}}, host: "example.com", usage: x509.ExtKeyUsageServerAuth, refused: true},
		{name: "client", leaf: Leaf{CommonName: "c", Organizations: []string{"g"}}, usage: x509.ExtKeyUsageClientAuth},
		{name: "client that serves", leaf: Leaf{CommonName: "c"}, usage: x509.ExtKeyUsageServerAuth, refused: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			pair, err := ca.Issue(test.leaf)
			if err != nil {
				t.Fatal(err)
			}
			cert := parse(t, pair)
			_, err = cert.Verify(x509.VerifyOptions{Roots: ca.Pool(), DNSName: test.host, KeyUsages: []x509.ExtKeyUsage{test.usage}})
			if refused := err != nil; refused != test.refused {
				t.Errorf("verify: %v, want refused: %v", err, test.refused)
			}
			if !slices.Equal(cert.Subject.Organization, test.leaf.Organizations) {
				t.Errorf("organizations %v, want %v", cert.Subject.Organization, test.leaf.Organizations)
			}
		})
	}
}

func TestParseAuthorityKeepsTrust(t *testing.T) {
	t.Parallel()
	ca, err := NewAuthority("test-ca")
	if err != nil {
		t.Fatal(err)
	}
	stored, err := ca.Pair()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseAuthority(stored)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := again.Issue(Leaf{CommonName: "c"})
	if err != nil {
		t.Fatal(err)
	}
	opts := x509.VerifyOptions{Roots: ca.Pool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := parse(t, pair).Verify(opts); err != nil {
		t.Errorf("a leaf of the stored authority is not trusted: %v", err)
	}
	if _, err := ParseAuthority(Pair{Cert: []byte("no"), Key: []byte("no")}); err == nil {
		t.Error("garbage was read as an authority")
	}
}

func TestWriteFileNarrowsTheMode(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("secret")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %o, want 600", info.Mode().Perm())
	}
}

// A reader of a file that is being written sees either the complete old contents or the complete new contents.
func TestWriteFileReplacesAsAWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	if err := WriteFile(path, []byte("before")); err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := WriteFile(path, []byte("after")); err != nil {
		t.Fatal(err)
	}
	if read, err := io.ReadAll(reader); err != nil || string(read) != "before" {
		t.Errorf("who had opened it reads %q, %v", read, err)
	}
	if err := WriteFile(dir, nil); err == nil {
		t.Error("a directory was written")
	}
	if _, err := os.Stat(dir + ".next"); err == nil {
		t.Error("something is left of what could not be written")
	}
}

func parse(t *testing.T, p Pair) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(p.Cert)
	if block == nil {
		t.Fatal("no PEM block")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}
