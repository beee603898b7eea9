package bucket

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// The signature is that of the example in the store's own documentation.
func TestSignature(t *testing.T) {
	t.Parallel()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://examplebucket.s3.amazonaws.com/test.txt", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Range", "bytes=0-9")
	who := Credentials{Key: "AKIAIOSFODNN7EXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
	sign(r, who, "us-east-1", nothing, time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC))
	const want = "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request," +
		"SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
	if got := r.Header.Get("Authorization"); got != want {
		t.Errorf("the signature is\n%s, want\n%s", got, want)
	}
}

// cellar is an object store in memory: it takes what is signed as it should be, and refuses the rest.
type cellar struct {
	mu    sync.Mutex
	files map[string][]byte
	key   string
}

func (c *cellar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	sum := sha256.Sum256(body)
	if err != nil || !strings.Contains(r.Header.Get("Authorization"), "Credential="+c.key+"/") || r.Header.Get("X-Amz-Content-Sha256") != hex.EncodeToString(sum[:]) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, "<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>")
		return
	}
	content, there := c.files[r.URL.Path]
	switch {
	case r.Method == http.MethodPut:
		c.files[r.URL.Path] = body
	case !there:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, "<Error><Code>NoSuchKey</Code></Error>")
	case r.Method == http.MethodGet:
		_, _ = w.Write(content) // the client tells
	case r.Method == http.MethodDelete:
		delete(c.files, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
	}
}

func stores(t *testing.T) map[string]Bucket {
	t.Helper()
	c := &cellar{files: map[string][]byte{}, key: "me"}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	mine := func(context.Context) (Credentials, error) { return Credentials{Key: "me", Secret: "secret"}, nil }
	return map[string]Bucket{
		"folder": Folder(t.TempDir()),
		"s3":     S3{Endpoint: server.URL, Bucket: "cellar", Prefix: "backups/", Credentials: mine},
	}
}

// What is put is got, replaced and deleted, and nothing else.
func TestBuckets(t *testing.T) {
	t.Parallel()
	for name, b := range stores(t) {
		for _, content := range []string{"first", "", "second, which is longer"} {
			if err := b.Put(t.Context(), "store/a.json", bytes.NewReader([]byte(content))); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got := read(t, b, "store/a.json"); got != content {
				t.Errorf("%s holds %q, want %q", name, got, content)
			}
		}
		for range 2 {
			if err := b.Delete(t.Context(), "store/a.json"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := b.Get(t.Context(), "store/a.json"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: what is not there is %v", name, err)
		}
		for _, bad := range []string{"", "../a", "a//b", "/a", "a/.", "ä", "a b", "a.part"} {
			if err := b.Put(t.Context(), bad, bytes.NewReader(nil)); err == nil {
				t.Errorf("%s took the name %q", name, bad)
			}
		}
	}
}

func read(t *testing.T, b Bucket, name string) string {
	t.Helper()
	file, err := b.Get(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// A file that is not written to its end is not there, and files are for their owner.
func TestFolderIsWholeOrNot(t *testing.T) {
	t.Parallel()
	f := Folder(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Put(ctx, "a", strings.NewReader("content")); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if left, err := os.ReadDir(string(f)); err != nil || len(left) > 0 {
		t.Errorf("there is %v, %v", left, err)
	}
	if err := f.Put(t.Context(), "a", strings.NewReader("content")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(string(f), "a")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("it is %v, %v", info, err)
	}
	if err := Folder(filepath.Join(string(f), "missing")).Put(t.Context(), "a", strings.NewReader("")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// What the store refuses is told in its words, and no secret is.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := stores(t)["s3"].(S3)
	calls := 0
	s.Credentials = func(context.Context) (Credentials, error) {
		if calls++; calls == 1 {
			return Credentials{Key: "old", Secret: "hidden"}, nil // they expired midway
		}
		return Credentials{Key: "me", Secret: "hidden"}, nil
	}
	err := s.Put(t.Context(), "a", strings.NewReader("x"))
	if err == nil || !strings.Contains(err.Error(), "answers 403: ExpiredToken: The provided token has expired.") || strings.Contains(err.Error(), "hidden") {
		t.Errorf("the error is %v", err)
	}
	if err := s.Put(t.Context(), "a", strings.NewReader("x")); err != nil {
		t.Errorf("with new credentials: %v", err)
	}
	s.Endpoint = "store.example.com"
	if err := s.Put(t.Context(), "a", strings.NewReader("x")); err == nil || !strings.Contains(err.Error(), "needs an endpoint such as https://host") {
		t.Errorf("the error is %v", err)
	}
}
