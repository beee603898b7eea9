// Package testaid contains helpers for the tests of several packages that are independent of Operon: they write and edit files,
// copy projects under other names, and reserve free addresses.
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

// Write writes a file, and creates its directories.
func Write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Program writes a file that can be executed at once. In the meantime, no process is started, because a new process would
// inherit the file descriptor and keep the file open for writing until it executes its own program.
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

// Edit replaces text in a file, which must contain it.
func Edit(t testing.TB, file, old, new string) {
	t.Helper()
	text := Read(t, file)
	if !strings.Contains(text, old) {
		t.Fatalf("%s has no %q", file, old)
	}
	Write(t, file, strings.Replace(text, old, new, 1))
}

// Copy copies the files of a directory, and replaces words in them, which are pairs of old and new. The suffix .txt is removed
// from names: it prevents a module in testdata from being a module.
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

// FreeAddress returns a free loopback address, HOST:PORT, which is reserved for the test.
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
