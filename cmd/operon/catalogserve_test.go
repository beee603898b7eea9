package main

import (
	"bufio"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/operon-framework/operon/internal/ship/catalog/registry"
	"github.com/operon-framework/operon/internal/testing/testaid"
)

func TestMistakesInCallsOfCatalogServe(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for call, want := range map[string]string{
		"catalog serve":                                   "operon: want directories or files with a catalog",
		"catalog serve x --grpc 50051":                    "operon: --grpc 50051: want an address such as 127.0.0.1:50051",
		"catalog serve x --grpc=":                         "operon: --grpc and --http are empty: want an address for one of them",
		"catalog serve /nowhere --grpc :0":                "operon: there is no directory or file /nowhere; name a directory with a catalog",
		"catalog serve /nowhere --cache-only":             "operon: there is no directory or file /nowhere; name a directory with a catalog",
		"catalog serve x --grpc " + taken.Addr().String(): "address already in use; name another address",
	} {
		if got := operon(t, strings.Fields(call)...); got.code != exitFailed || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: exit %d\n%s", call, got.code, got.stderr)
		}
	}
	log := filepath.Join(t.TempDir(), "log")
	operon(t, "catalog", "serve", "/nowhere", "--grpc", "127.0.0.1:0", "--termination-log", log)
	if got := testaid.Read(t, log); got != "there is no directory or file /nowhere; name a directory with a catalog\n" {
		t.Errorf("the termination log is %q", got)
	}
}

// renderedCatalog returns the catalog of the bundles of the tests.
func renderedCatalog(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "catalog")
	if got := operon(t, "catalog", "render", bundles, "--image", "r.example.com/{package}:{version}", "--to", dir); got.code != 0 {
		t.Fatalf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	return dir
}

// served starts a server of a catalog, and returns its standard output.
func served(t *testing.T) (*exec.Cmd, io.Reader) {
	t.Helper()
	command := asOperonIn(t, "catalog", "serve", renderedCatalog(t), "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--cache-dir", t.TempDir())
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	return command, out
}

// endsBy checks that a signal ends a server with exit code 0.
func endsBy(t *testing.T, command *exec.Cmd, out io.Reader, by os.Signal) {
	t.Helper()
	if err := command.Process.Signal(by); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(out); err != nil {
		t.Error(err)
	}
	if err := command.Wait(); err != nil {
		t.Errorf("the server ends with %v", err)
	}
}

// What is served is what was rendered. SIGTERM ends the server with exit code 0.
func TestCatalogServe(t *testing.T) {
	t.Parallel()
	command, out := served(t)
	lines := bufio.NewScanner(out)
	next := func(prefix string) string {
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), prefix) {
			t.Errorf("the server prints %q, want %q", lines.Text(), prefix)
		}
		return strings.TrimPrefix(lines.Text(), prefix)
	}
	next("2 packages, 3 bundles")
	rpc, web := next("gRPC on "), next("HTTP on ")
	conn, err := grpc.NewClient(rpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	head, err := registry.NewRegistryClient(conn).GetBundleForChannel(t.Context(), &registry.GetBundleInChannelRequest{PkgName: "bell", ChannelName: "stable"})
	if err != nil || head.GetCsvName() != "bell.v1.1.0" || head.GetBundlePath() != "r.example.com/bell:1.1.0" {
		t.Errorf("the head is %v, %v", head, err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	response, err := http.Get(web)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || strings.Count(string(body), `"schema":"olm.bundle"`) != 3 {
		t.Errorf("the catalog is %s, %v", body, err)
	}
	endsBy(t, command, out, syscall.SIGTERM)
}

// When its terminal is closed, a command ends as with SIGTERM, and cleans up.
func TestTheTerminalIsClosed(t *testing.T) {
	t.Parallel()
	// What is started while this process catches the signal does not ignore it, even if this process was started by nohup.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(caught) })
	command, out := served(t)
	for lines := bufio.NewScanner(out); lines.Scan() && !strings.HasPrefix(lines.Text(), "HTTP on "); {
	}
	endsBy(t, command, out, syscall.SIGHUP)
}

func TestCatalogCacheOnly(t *testing.T) {
	t.Parallel()
	dir, cache := renderedCatalog(t), t.TempDir()
	if got := operon(t, "catalog", "serve", dir, "--cache-only", "--cache-dir", cache); got.code != 0 || got.stdout != "2 packages, 3 bundles in "+cache+"\n" {
		t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	err := filepath.WalkDir(cache, func(path string, entry fs.DirEntry, err error) error {
		if info, statErr := os.Stat(path); err == nil && statErr == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o004 == 0 {
			t.Errorf("%s has the mode %s: a server that runs as another user cannot read it", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	testaid.Write(t, filepath.Join(dir, "bell", "catalog.yaml"), "schema: olm.package\nname: bell\n")
	got := operon(t, "catalog", "serve", dir, "--cache-only")
	if got.code != exitFailed || !strings.Contains(got.stdout, "1 package, 1 bundle in ") || !strings.Contains(got.stderr, "package bell: defaultChannel is missing") {
		t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}
