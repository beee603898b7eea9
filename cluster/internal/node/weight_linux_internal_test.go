package node

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestEachNodeAddsToTheShareOfProcessorTime(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		file, byDefault string
		nodes           int
		want            string
	}{
		{"cpu.shares", "1024", 1, "2048"},
		{"cpu.shares", "1024", 3, "6144"},
		{"cpu.shares", "1024", 200, "16384"},
		{"cpu.weight", "100", 1, "200"},
		{"cpu.weight", "100", 2, "400"},
		{"cpu.weight", "100", 60, "400"},
		{"", "", 2, ""},
	} {
		parent := t.TempDir()
		for i := range test.nodes {
			if err := os.Mkdir(filepath.Join(parent, fmt.Sprint("node-", i)), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		file := filepath.Join(parent, test.file)
		if test.file != "" {
			if err := os.WriteFile(file, []byte(test.byDefault), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := weighNodes(parent); err != nil {
			t.Fatal(err)
		}
		if test.file == "" {
			if _, err := os.Stat(filepath.Join(parent, "cpu.shares")); err == nil {
				t.Error("made a file in a hierarchy without the controller")
			}
			continue
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != test.want {
			t.Errorf("%s of %d nodes is %s, error %v, want %s", test.file, test.nodes, got, err, test.want)
		}
	}
}
