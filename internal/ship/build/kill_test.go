package build_test

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/ship/build"
)

// A build that is killed at any point leaves nothing that the next build does not remove, and the next build results in the
// same image as without interruption.
func TestKilledBuilds(t *testing.T) {
	t.Parallel()
	undisturbed := built(t, project(t), build.Options{})
	for _, when := range []string{"compiling", "packing", "built"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			dir := project(t)
			kill(t, dir, when)
			again := built(t, dir, build.Options{})
			if again.Image.Descriptor.Digest != undisturbed.Image.Descriptor.Digest {
				t.Errorf("made is %s, want %s", again.Image.Descriptor.Digest, undisturbed.Image.Descriptor.Digest)
			}
			// The other builds may have been completed before they were killed.
			if when == "built" && !again.Platforms[0].Reused {
				t.Error("what was built is built again")
			}
		})
	}
}

// kill builds a project in a separate process, which is killed as soon as it prints a word.
func kill(t *testing.T, dir, when string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), buildsProject+"="+dir)
	said, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), when) {
			if err := command.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := command.Wait(); err == nil || command.ProcessState.Exited() {
		t.Fatalf("it was not killed: %v", err)
	}
}

// The next build removes the remains of the compiler of a killed build.
func TestLeftoversAreRemoved(t *testing.T) {
	t.Parallel()
	dir := project(t)
	built(t, dir, build.Options{})
	folders, err := filepath.Glob(filepath.Join(os.Getenv("OPERON_HOME"), "build", fmt.Sprintf("%x", sha256.Sum256([]byte(dir)))[:16]))
	if err != nil || len(folders) != 1 {
		t.Fatalf("the caches are %q, %v", folders, err)
	}
	folder := folders[0]
	write(t, folder, "compile-1/manager", "half a program")
	write(t, folder, "store/blobs/sha256/unfinished-1", "half a layer")
	built(t, dir, build.Options{Again: true})
	for _, pattern := range []string{"compile-*", "store/blobs/sha256/unfinished-*"} {
		if left, err := filepath.Glob(filepath.Join(folder, pattern)); err != nil || len(left) > 0 {
			t.Errorf("left %q, %v", left, err)
		}
	}
}
