// Package scenario runs tests of pure functions that are described in files: what goes in, a line of four dashes, and
// what has to come out. The flag -rewrite writes what comes out into the files, to be read as a difference before it
// is committed.
package scenario

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write into the scenario files what comes out")

// divider stands between what goes in and what comes out.
const divider = "\n----\n"

// Run plays each file testdata/*.txt as a test of its own, in parallel, and compares what comes out.
// There have to be at least least of them, so that none is lost with its directory.
func Run(t *testing.T, least int, play func(t *testing.T, given string) string) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < least {
		t.Fatalf("there are %d scenarios, want at least %d: %v", len(files), least, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			check(t, file, play)
		})
	}
}

func check(t *testing.T, file string, play func(t *testing.T, given string) string) {
	t.Helper()
	given, want := read(t, file)
	got := play(t, given)
	if got == want {
		return
	}
	if !*rewrite {
		t.Errorf("%s: what comes out is\n%s\nwant\n%s\n(-rewrite accepts it)", file, got, want)
		return
	}
	if err := os.WriteFile(file, []byte(strings.TrimRight(given, "\n")+divider+got), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Given returns what goes in, of one file.
func Given(t *testing.T, file string) string {
	t.Helper()
	given, _ := read(t, file)
	return given
}

func read(t *testing.T, file string) (given, want string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	given, want, _ = strings.Cut(string(content), divider)
	return given, want
}
