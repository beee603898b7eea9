package local

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// checkout is a source directory without Go code, which the fake compilers of these tests accept.
func checkout(t *testing.T) source {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go.mod"), "module example.com/cluster\n")
	put(t, filepath.Join(dir, "main.go"), "package main\n")
	return source{program: binaryName, dir: dir}
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestFingerprintFollowsWhatABuildDependsOn(t *testing.T) {
	t.Parallel()
	from := checkout(t)
	first := fingerprintOf(t, from)
	put(t, filepath.Join(from.dir, "main_test.go"), "package main\n")
	put(t, filepath.Join(from.dir, "testdata/x.go"), "package x\n")
	put(t, filepath.Join(from.dir, "README.md"), "hello\n")
	put(t, filepath.Join(from.dir, ".git/HEAD"), "ref\n")
	if got := fingerprintOf(t, from); got != first {
		t.Error("it follows tests, documents or hidden directories")
	}
	put(t, filepath.Join(from.dir, "policy.yaml"), "a: 1\n") // may be embedded
	second := fingerprintOf(t, from)
	put(t, filepath.Join(from.dir, "policy.yaml"), "a: 2\n")
	if third := fingerprintOf(t, from); second == first || third == second || third == first {
		t.Errorf("it does not follow embedded files: %s %s %s", first, second, third)
	}
	if fingerprintOf(t, source{version: "v1"}) == fingerprintOf(t, source{version: "v2"}) {
		t.Error("it does not follow the version")
	}
}

func fingerprintOf(t *testing.T, from source) string {
	t.Helper()
	print, err := from.fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	return print
}

func TestFindSourceFindsThisCheckout(t *testing.T) {
	t.Parallel()
	from, err := findSource(binaryName)
	if err != nil || filepath.Base(from.dir) != "cluster" {
		t.Errorf("%+v, %v", from, err)
	}
}

// fakeGo puts a go command on the PATH that records its calls, and builds what script specifies.
func fakeGo(t *testing.T, script string) (calls string) {
	t.Helper()
	dir := t.TempDir()
	calls = filepath.Join(dir, "calls")
	put(t, filepath.Join(dir, "go"), "#!/bin/sh\necho \"$1\" >> "+calls+"\n"+script)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return calls
}

// buildFile is a fake build: it writes a file at the path after -o.
const buildFile = `
[ "$1" = list ] && { echo a; echo b; exit 0; }
while [ "$1" != -o ]; do shift; done
echo example.com/a >&2
printf built > "$2" && chmod +x "$2"
`

func TestCachedBuildsOnceForAll(t *testing.T) {
	calls := fakeGo(t, "sleep 0.2\n"+buildFile)
	from, cache := checkout(t), t.TempDir()
	var all sync.WaitGroup
	var progress lockedBuffer
	for range 4 {
		all.Go(func() {
			binary, err := cached(context.Background(), cache, "print", from, &progress)
			if err != nil || binary != filepath.Join(cache, "print", binaryName) {
				t.Errorf("%s, %v", binary, err)
			}
		})
	}
	all.Wait()
	if got, _ := os.ReadFile(calls); string(got) != "list\nbuild\n" {
		t.Errorf("the go command was called for %q", got)
	}
	if n := strings.Count(progress.String(), "waiting for another process"); n != 3 {
		t.Errorf("%d said that they wait", n)
	}
	noLeftovers(t, cache, "print", "lock")
}

// lockedBuffer is a buffer for concurrent writers.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func noLeftovers(t *testing.T, cache string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(cache)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if len(got) != len(want) {
		t.Errorf("the cache has %q, want %q in any order", got, want)
	}
}

func TestCachedTellsWhatTheCompilerSaid(t *testing.T) {
	fakeGo(t, "[ \"$1\" = list ] && exit 0\necho main.go:1: no such thing >&2\nexit 1\n")
	cache := t.TempDir()
	_, err := cached(t.Context(), cache, "print", checkout(t), &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "build operon-cluster: `go build` failed:\nmain.go:1: no such thing") {
		t.Errorf("%v", err)
	}
	noLeftovers(t, cache, "lock")
}

func TestCachedLeavesNothingBehindWhenItIsStopped(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	if err := syscall.Mkfifo(started, 0o600); err != nil {
		t.Fatal(err)
	}
	fakeGo(t, "[ \"$1\" = list ] && exit 0\necho yes > "+started+"\nexec sleep 60\n")
	cache := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		_, err := os.ReadFile(started) // returns after the fake compiler has written
		cancel(errors.Join(err, errors.New("enough")))
	}()
	_, err := cached(ctx, cache, "print", checkout(t), &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "stopped: enough") {
		t.Errorf("%v", err)
	}
	noLeftovers(t, cache, "lock")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestCachedNeedsAGoCommand(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := cached(t.Context(), t.TempDir(), "print", checkout(t), &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "there is no go command on the PATH") {
		t.Errorf("%v", err)
	}
}

func TestTidyKeepsTheNewestAndDropsWhatWasInterrupted(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	for i, name := range []string{"old", "newer", "newest", unfinished + "1"} {
		binary := filepath.Join(cache, name, binaryName)
		put(t, binary, "x")
		at := time.Unix(int64(1000+i), 0)
		if err := os.Chtimes(binary, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(cache, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := tidy(cache, binaryName, 2); err != nil {
		t.Fatal(err)
	}
	noLeftovers(t, cache, "newer", "newest")
	if exists(filepath.Join(cache, "old")) {
		t.Error("the oldest is there")
	}
}

func TestBinaryIsTheOneThatIsNamed(t *testing.T) {
	named := filepath.Join(t.TempDir(), "any")
	t.Setenv("OPERON_CLUSTER_BINARY", named)
	if _, err := Binary(t.Context(), &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "is not an executable file") {
		t.Errorf("it does not exist: %v", err)
	}
	put(t, named, "x")
	if got, err := Binary(t.Context(), &bytes.Buffer{}); got != named || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}
