package instance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The state of a cluster must not be where the files of clusters are removed.
func TestDataAmongClusters(t *testing.T) {
	home := t.TempDir()
	t.Setenv("OPERON_HOME", home)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.MkdirAll(filepath.Join(home, "clusters"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(home, "clusters"), link); err != nil {
		t.Fatal(err)
	}
	for data, refused := range map[string]bool{
		filepath.Join(home, "clusters", "mine"): true, filepath.Join(home, "clusters"): true, filepath.Join(link, "mine", "state"): true,
		filepath.Join(home, "data"): false, filepath.Join(home, "clusters-of-mine"): false, "": false,
	} {
		err := (&Spec{Data: data}).checkData()
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "data: "+data) {
			t.Errorf("%q: %v", data, err)
		}
	}
}
