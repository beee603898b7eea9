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
	for _, file := range []string{k.key(caFile), k.tokenKey()} {
		if err := os.Mkdir(file, 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := openKeys(dir, nil); err == nil {
			t.Fatalf("%s is a folder, and no error", file)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := openKeys(dir, nil); err != nil {
		t.Error(err)
	}
}
