package controlplane

import (
	"os"
	"testing"
)

// A start that ends between two files, killed or because one cannot be written, leaves nothing that the next one
// cannot go on with.
func TestKeysOfAStartThatWasCutOff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := &keys{dir: dir}
	if err := os.Mkdir(k.key(caFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := openKeys(dir, nil); err == nil {
		t.Fatal("the authority's key is a directory, and no error")
	}
	if err := os.Remove(k.key(caFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := openKeys(dir, nil); err != nil {
		t.Error(err)
	}
}
