package garbage

import (
	"os"
	"path/filepath"
	"testing"
)

// The limit of a control group is the lowest one of the group and its parents.
func TestGroupLimit(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for group, limit := range map[string]string{"a": "4000\n", "a/b": "max\n", "a/b/c": "9000\n", "d": "max\n"} {
		dir := filepath.Join(root, group)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "memory.max"), []byte(limit), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for group, want := range map[string]uint64{"/": 10000, "/a": 4000, "/a/b": 4000, "/a/b/c": 4000, "/d": 10000, "/none": 10000} {
		if got := groupLimit(root, group, 10000); got != want {
			t.Errorf("%s: %d, want %d", group, got, want)
		}
	}
	if memory() < 1<<20 {
		t.Errorf("this machine has %d bytes", memory())
	}
}
