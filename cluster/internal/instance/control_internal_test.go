package instance

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A cluster counts as used while images are loaded.
func TestImagesAreUse(t *testing.T) {
	home, err := os.MkdirTemp("", "oc") // the path of a test's temporary directory is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	t.Setenv("OPERON_HOME", home)
	s := &server{folder: folder{DefaultName, filepath.Join(home, "clusters", DefaultName)}}
	if err := os.MkdirAll(s.folder.path, 0o700); err != nil {
		t.Fatal(err)
	}
	if s.lock, err = tryLock(s.folder.runLock()); err != nil {
		t.Fatal(err)
	}
	defer s.lock.Close()
	if err := s.folder.writeFacts(Facts{State: Running, Node: Container}); err != nil {
		t.Fatal(err)
	}
	if err := s.serveControl(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, _, err := Images(ctx, DefaultName); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want that there is no node", err)
	}
	if s.activity.remaining(0) < 0 {
		t.Error("the cluster counts as idle meanwhile")
	}
	cancel()
	awaitUnused(t, &s.activity)
}

// awaitUnused returns when the cluster is unused, which must be the case at once.
func awaitUnused(t *testing.T, use *activity) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	use.awaitIdle(ctx, 10*time.Millisecond)
	if ctx.Err() != nil {
		t.Error("it counts as used when that is over")
	}
}
