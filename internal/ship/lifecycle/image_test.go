package lifecycle

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/operon-framework/operon/internal/ship/image"
)

// The image consists of the program, and pods refer to it by its digest.
func TestImage(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	program := filepath.Join(t.TempDir(), "operon-olm")
	if err := os.WriteFile(program, []byte("a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	scratch, err := image.NewScratch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer scratch.Close()
	to := image.Delivery{Push: strings.TrimPrefix(server.URL, "http://") + "/operon-olm:1.0"}
	made, err := Options{Push: to.Push}.build(t.Context(), scratch, program)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := scratch.Deliver(t.Context(), made.name, made.Image, to); err != nil {
		t.Fatal(err)
	}
	reference, err := name.NewDigest(made.reference)
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := remote.Image(reference)
	if err != nil {
		t.Fatal(err)
	}
	config, err := pushed.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	run := config.Config
	if !slices.Equal(run.Entrypoint, []string{"/operon-olm"}) || run.User != "65532:65532" || !slices.Contains(run.Env, "OLM_CACHE_DIR=/tmp/operon-olm") {
		t.Errorf("the image runs %+v", run)
	}
	if err := static(program); err == nil || !strings.HasPrefix(err.Error(), "operon-olm cannot run in a container: ") {
		t.Errorf("something that is not a program: %v", err)
	}
}
