package instance

import (
	"context"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Retained images keep their names: the registry uses the port that is part of them, or does not start.
func TestKeptImagesKeepTheirNames(t *testing.T) {
	t.Parallel()
	spec := Spec{Data: t.TempDir()}
	ctx, stop := context.WithCancel(t.Context())
	use := &activity{}
	first, err := serveImages(ctx, folder{}, spec, use)
	if err != nil {
		t.Fatal(err)
	}
	to, err := name.ParseReference(first.address + "/web:1")
	if err != nil {
		t.Fatal(err)
	}
	image, err := random.Image(100, 1)
	if err != nil {
		t.Fatal(err)
	}
	pushed := time.Now()
	if err := remote.Write(to, image); err != nil {
		t.Fatal(err)
	}
	if !use.since(pushed) {
		t.Error("a push does not count as use of the cluster")
	}
	if _, err := serveImages(t.Context(), folder{}, spec, &activity{}); err == nil || !strings.Contains(err.Error(), "rename the images with --registry-port") {
		t.Errorf("on a port that is taken: %v", err)
	}
	stop()
	awaitFree(t, first.address)
	again, err := serveImages(t.Context(), folder{}, spec, &activity{})
	if err != nil {
		t.Fatal(err)
	}
	if again.address != first.address {
		t.Errorf("it was at %s, and is at %s", first.address, again.address)
	}
	if _, err := remote.Head(to); err != nil {
		t.Error(err)
	}
}

// awaitFree waits until nothing listens on an address: a server closes its listener with a delay.
func awaitFree(t *testing.T, address string) {
	t.Helper()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		conn.Close()
	}
	t.Fatalf("%s stays taken", address)
}

func TestRegistryPortThatCannotBe(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	if _, err := serveImages(t.Context(), folder{path: t.TempDir()}, Spec{RegistryPort: port}, &activity{}); err == nil || !strings.Contains(err.Error(), ":"+strconv.Itoa(port)+": bind: address already in use; choose another port with --registry-port") {
		t.Errorf("a port that is taken: %v", err)
	}
	data := t.TempDir()
	if err := os.MkdirAll((&Spec{Data: data}).registry(folder{}), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(portFile((&Spec{Data: data}).registry(folder{})), []byte("many"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := serveImages(t.Context(), folder{}, Spec{Data: data}, &activity{}); err == nil || !strings.Contains(err.Error(), "port:") {
		t.Errorf("a file that holds no port: %v", err)
	}
}

// Only the user who started the cluster may push, including the original user if it was started with sudo.
func TestPushers(t *testing.T) {
	self := uint32(os.Geteuid())
	for sudo, want := range map[string][]uint32{"1000": {self, 1000}, "": {self}, "somebody": {self}} {
		t.Setenv("SUDO_UID", sudo)
		if got := pushers(); !slices.Equal(got, want) {
			t.Errorf("SUDO_UID=%q: %d, want %d", sudo, got, want)
		}
	}
}
