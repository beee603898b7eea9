package registry_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/operon-framework/operon/cluster/internal/testaid"
)

// A full disk is reported with a remedy, and nothing of the upload remains. An upload that fits is accepted.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if os.Geteuid() != 0 {
		testaid.Lacks(t, "a small disk is mounted, which takes root")
	}
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"); err != nil {
		testaid.Lacks(t, "no small disk can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s := serve(t, filepath.Join(disk, "registry"))
	response, said := s.ask("POST", "/v2/web/blobs/uploads/?digest=sha256:"+strings.Repeat("0", 64), strings.NewReader(strings.Repeat("x", 1<<20)))
	if response.StatusCode != http.StatusInsufficientStorage || !strings.Contains(said, "is full: free space") {
		t.Errorf("%s: %s", response.Status, said)
	}
	if left := append(s.files("uploads"), s.files("blobs")...); len(left) > 0 {
		t.Errorf("left %q", left)
	}
	s.upload("small")
}
