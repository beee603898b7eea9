// Package testaid has helpers for the tests of several packages that belong to no part of Operon: files that are
// written and edited, copies of a project with other names in it, an address that is free.
package testaid

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/operon-framework/operon/internal/tools/ports"
)

// Write writes a file, with the directories above it.
func Write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Program writes a file that can be run at once: no process is started in the meantime that would have it open for writing, too,
// until it is its own program.
func Program(t testing.TB, file, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// Read reads a file.
func Read(t testing.TB, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// Edit replaces text in a file, which has to have it.
func Edit(t testing.TB, file, old, new string) {
	t.Helper()
	text := Read(t, file)
	if !strings.Contains(text, old) {
		t.Fatalf("%s has no %q", file, old)
	}
	Write(t, file, strings.Replace(text, old, new, 1))
}

// Copy copies the files of a directory, with words replaced in them, pairs of old and new. Names lose .txt at their end, by
// which a module in testdata is kept from being one.
func Copy(t testing.TB, to, from string, words ...string) {
	t.Helper()
	replaced := strings.NewReplacer(words...)
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(from, strings.TrimSuffix(path, ".txt"))
		if err != nil {
			return err
		}
		Write(t, filepath.Join(to, relative), replaced.Replace(Read(t, path)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// FreeAddress is an address on loopback, HOST:PORT, where nobody listens, and that is kept for the test.
func FreeAddress(t testing.TB) string {
	t.Helper()
	port, err := ports.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := port.Close(); err != nil {
			t.Error(err)
		}
	})
	return port.Address()
}
