package artifactstore

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
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// cellar is an object store in memory that checks requests: it accepts those of the client that it knows if they are signed
// with the digest of their content, and rejects all others.
type cellar struct {
	http.Handler
	key, token string
	busy       atomic.Int64 // how many more requests it rejects as busy
	asked      atomic.Int64
}

func (c *cellar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.asked.Add(1)
	body, err := io.ReadAll(r.Body)
	sum := sha256.Sum256(body)
	known := strings.Contains(r.Header.Get("Authorization"), "Credential="+c.key+"/") && r.Header.Get("X-Amz-Security-Token") == c.token
	switch {
	case err != nil || !known || r.Header.Get("X-Amz-Content-Sha256") != hex.EncodeToString(sum[:]):
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, "<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>")
	case c.busy.Add(-1) >= 0:
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, "<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>")
	default:
		r.Body = io.NopCloser(bytes.NewReader(body))
		c.Handler.ServeHTTP(w, r)
	}
}

func store(t *testing.T) (*cellar, S3) {
	t.Helper()
	memory := s3mem.New()
	if err := memory.CreateBucket("cellar"); err != nil {
		t.Fatal(err)
	}
	c := &cellar{Handler: gofakes3.New(memory).Server(), key: "me", token: "today"}
	mine := func(context.Context) (Credentials, error) { return Credentials{"me", "hidden", "today"}, nil }
	return c, S3{Endpoint: serve(t, c), Bucket: "cellar", Prefix: "backups/", Credentials: mine}
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return strings.Replace(server.URL, "127.0.0.1", "localhost", 1) // with an IP address, the bucket would be in the path in any case
}

func stores(t *testing.T) map[string]Bucket {
	t.Helper()
	_, s := store(t)
	return map[string]Bucket{"directory": Directory(t.TempDir()), "s3": s}
}

// Stored files can be read, replaced and deleted.
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
		for _, bad := range []string{"", "../a", "a//b", "/a", "a/.", "ä", "a b", "a.part", "backup-10:00", strings.Repeat("a", 1100)} {
			put, deleted, checked := b.Put(t.Context(), bad, bytes.NewReader(nil)), b.Delete(t.Context(), bad), b.(interface{ Check(string) error }).Check(bad)
			for _, err := range []error{put, deleted, checked} {
				if !errors.Is(err, fs.ErrInvalid) || strings.Contains(err.Error(), fs.ErrInvalid.Error()) {
					t.Errorf("%s took the name %q: %v", name, bad, err)
				}
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

// A process that continues after its successor has written the same file does not change what the successor has written.
func TestTwoWritersOfOneFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	f := Directory(folder)
	begun, thaw, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- f.Put(t.Context(), "a.json", &frozen{Reader: strings.NewReader("old"), begun: begun, thaw: thaw})
	}()
	<-begun
	if err := f.Put(t.Context(), "a.json", strings.NewReader("the new content")); err != nil {
		t.Fatal(err)
	}
	close(thaw)
	err := <-ended
	if got := read(t, f, "a.json"); got != "the new content" && got != "old" || err == nil && got != "old" {
		t.Errorf("it holds %q, and the older call ended with %v", got, err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
		t.Errorf("there are %v, %v", left, err)
	}
}

// A file whose name begins with that of another one is not touched when the other one is written and deleted, in a directory with any
// character in its path.
func TestWriterOfALongerName(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "a[b")
	left := filepath.Join(folder, "db.7.part") // of an interrupted call
	if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(left, []byte("half"), 0o600)); err != nil {
		t.Fatal(err)
	}
	f := Directory(folder)
	begun, thaw, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- f.Put(t.Context(), "db.tar", &frozen{Reader: strings.NewReader("the archive"), begun: begun, thaw: thaw})
	}()
	<-begun
	err := errors.Join(f.Put(t.Context(), "db", strings.NewReader("the database")), f.Delete(t.Context(), "db"))
	close(thaw)
	if err := errors.Join(err, <-ended); err != nil {
		t.Fatal(err)
	}
	if got := read(t, f, "db.tar"); got != "the archive" {
		t.Errorf("it holds %q", got)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what an interrupted call has left is there: %v", err)
	}
}

// frozen stops after its first bytes until thaw is closed.
type frozen struct {
	*strings.Reader
	begun, thaw chan struct{}
	read        bool
}

func (f *frozen) Read(p []byte) (int, error) {
	if !f.read {
		f.read = true
		return f.Reader.Read(p[:1])
	}
	select {
	case <-f.begun:
	default:
		close(f.begun)
	}
	<-f.thaw
	return f.Reader.Read(p)
}

// WriteTo hides that of strings.Reader, which would not call Read.
func (f *frozen) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{f})
}

// A file that was not written completely does not exist, and files are accessible to their owner only.
func TestDirectoryIsWholeOrNot(t *testing.T) {
	t.Parallel()
	f := Directory(t.TempDir())
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
	if err := Directory(filepath.Join(string(f), "missing")).Put(t.Context(), "a", strings.NewReader("")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
}

// Errors contain the message of the store, and no secrets.
func TestRefusals(t *testing.T) {
	t.Parallel()
	_, s := store(t)
	calls := 0
	s.Credentials = func(context.Context) (Credentials, error) {
		if calls++; calls == 1 {
			return Credentials{"me", "hidden", "yesterday"}, nil // they expired in the meantime
		}
		return Credentials{"me", "hidden", "today"}, nil
	}
	refused(t, s, "put a: the object store answers 403: ExpiredToken: The provided token has expired.")
	if err := s.Put(t.Context(), "a", strings.NewReader("x")); err != nil {
		t.Errorf("with new credentials: %v", err)
	}
	elsewhere := s
	elsewhere.Bucket = "attic"
	refused(t, elsewhere, "put a: the object store answers 404: NoSuchBucket: ")
	if err := elsewhere.Delete(t.Context(), "a"); err == nil {
		t.Error("a file is deleted in a bucket that is not there")
	}
	s.Endpoint = serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>no", http.StatusForbidden) }))
	refused(t, s, "put a: the object store answers 403: Forbidden: ")
	s.Endpoint = "http://127.0.0.1:1"
	refused(t, s, `put a: Put "http://127.0.0.1:1/cellar/backups/a?x-id=PutObject": dial tcp 127.0.0.1:1: `)
	s.Endpoint = "store.example.com"
	refused(t, s, `put a: the object store needs an endpoint such as https://host, not "store.example.com", and a bucket`)
}

// refused puts a file. It expects an error that begins with want and contains no secrets.
func refused(t *testing.T, s S3, want string) {
	t.Helper()
	err := s.Put(t.Context(), "a", strings.NewReader("x"))
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("the error is %v, want %s", err, want)
	}
	for _, secret := range []string{"hidden", "yesterday", "today"} {
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("the error tells a secret: %v", err)
		}
	}
}

// Missing or empty credentials are an error before anything is sent.
func TestNoCredentials(t *testing.T) {
	t.Parallel()
	c, s := store(t)
	s.Credentials = nil
	refused(t, s, "put a: the object store has no credentials")
	lost := errors.New("the secret is lost")
	s.Credentials = func(context.Context) (Credentials, error) { return Credentials{}, lost }
	if err := s.Delete(t.Context(), "a"); !errors.Is(err, lost) {
		t.Errorf("the error is %v", err)
	}
	s.Credentials = func(context.Context) (Credentials, error) { return Credentials{Key: "me"}, nil }
	refused(t, s, "put a: the credentials of the object store have no key or no secret")
	if n := c.asked.Load(); n > 0 {
		t.Errorf("the store was asked %d times", n)
	}
}

// A request to a busy store is retried with the complete content, but not for longer than the context allows.
func TestBusyStore(t *testing.T) {
	t.Parallel()
	c, s := store(t)
	file, err := os.Create(filepath.Join(t.TempDir(), "content"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString("content"); err != nil {
		t.Fatal(err)
	}
	c.busy.Store(1)
	if err := s.Put(t.Context(), "a", file); err != nil {
		t.Fatal(err)
	}
	if got := read(t, s, "a"); got != "content" {
		t.Errorf("there is %q", got)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		t.Errorf("the file was closed: %v", err)
	}
	c.busy.Store(3)
	refused(t, s, "put a: the object store answers 503: SlowDown: Reduce your request rate.")

	// If the store does not respond at all, the request ends with the context and is not retried.
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan struct{}, 8)
	s.Endpoint = serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a server notices that a client has disconnected once it has read the whole body
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	done := make(chan error)
	go func() { done <- s.Put(ctx, "a", strings.NewReader("x")) }()
	<-asked
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if n := len(asked); n > 0 {
		t.Errorf("the store was asked %d times after the end", n)
	}
}
