package chart_test

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/operon-framework/operon/internal/ship/chart"
	"github.com/operon-framework/operon/internal/testing/testaid"
)

// If the disk becomes full while the end of an archive is written, the earlier archive stays.
func TestDisksThatAreFull(t *testing.T) {
	t.Parallel()
	small, large, to := source(t), source(t), t.TempDir()
	noise := make([]byte, 12_000) // cannot be compressed, and is written when the archive is closed
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	testaid.Write(t, filepath.Join(large, "noise"), string(noise))
	var denied, first, failed error
	var before, after []byte
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends, and its mount namespace with it
		if denied = syscall.Unshare(syscall.CLONE_NEWNS); denied != nil {
			return
		}
		if denied = errors.Join(syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""), syscall.Mount("disk", to, "tmpfs", 0, "size=12k")); denied != nil {
			return
		}
		var made *chart.Packaged
		if made, first = chart.Package(chart.PackageOptions{Dir: small, To: to}); first != nil {
			return
		}
		before, _ = os.ReadFile(made.File)
		_, failed = chart.Package(chart.PackageOptions{Dir: large, To: to})
		after, _ = os.ReadFile(made.File)
	}()
	<-done
	if errors.Is(denied, syscall.EPERM) {
		testaid.Lacks(t, "a disk of the test's own: %v; it takes root", denied)
	}
	if err := errors.Join(denied, first); err != nil {
		t.Fatal(err)
	}
	if failed == nil || !strings.Contains(failed.Error(), "is not complete") || len(before) == 0 || string(after) != string(before) {
		t.Errorf("the error is %v, the archive had %d bytes and has %d", failed, len(before), len(after))
	}
}
