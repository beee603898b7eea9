package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/ship/catalog/store"
	"github.com/operon-framework/operon/internal/testing/testaid"
)

// Files in the directory of a cache that are not of a cache stay.
func TestOtherFilesStay(t *testing.T) {
	t.Parallel()
	o := store.Options{Sources: []string{written(t, map[string]string{"till.yaml": till})}}
	own := map[string]string{"log.jsonl": "{}", "a.cache": "a", ".part-list": "b", "0123456789abcdef.jsonl.bak": "c", "fedcba9876543210.jsonl": "{}"}
	o.Dir = written(t, own)
	stale := filepath.Join(o.Dir, "0123456789abcdef.jsonl")
	testaid.Write(t, stale, "")
	testaid.Write(t, filepath.Join(o.Dir, "0123456789abcdef.cache"), "")
	opened(t, o)
	for name, content := range own {
		if got := testaid.Read(t, filepath.Join(o.Dir, name)); got != content {
			t.Errorf("%s is %q", name, got)
		}
	}
	if _, err := os.Lstat(stale); err == nil {
		t.Error("the cache of other files stays")
	}
	for _, content := range []string{`{"inputs": []}`, "[1]"} {
		o.Dir = written(t, map[string]string{"inputs.json": content})
		if _, err := store.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "inputs.json is not of a cache: name another directory") {
			t.Errorf("the error is %v", err)
		}
		if got := testaid.Read(t, filepath.Join(o.Dir, "inputs.json")); got != content {
			t.Errorf("the file is %q", got)
		}
	}
}
