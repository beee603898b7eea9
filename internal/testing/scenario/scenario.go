// Package scenario runs tests of pure functions that are described in files: the input, a line of four dashes, and the expected
// output. The flag -rewrite writes the actual output to the files, so the difference can be reviewed before it is committed.
package scenario

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write into the scenario files what comes out")

// divider separates the input and the expected output.
const divider = "\n----\n"

// Run runs each file testdata/*.txt as a parallel subtest, and compares the output. There must be at least least files, so lost
// files are detected.
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

// Given returns the input in one file.
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
