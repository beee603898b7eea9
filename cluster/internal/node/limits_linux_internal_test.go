package node

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

func TestANodeLeavesTheMachineMemoryAndProcesses(t *testing.T) {
	t.Parallel()
	for _, files := range [][]string{{"memory.max", "pids.max"}, {"memory.limit_in_bytes"}, {}} {
		group := t.TempDir()
		for _, name := range files {
			if err := os.WriteFile(filepath.Join(group, name), []byte("max"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := limitGroup(group); err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			text, err := os.ReadFile(filepath.Join(group, name))
			if err != nil {
				t.Fatal(err)
			}
			if n, err := strconv.ParseUint(string(text), 10, 64); err != nil || n < 1000 {
				t.Errorf("%s is %q", name, text)
			}
		}
		if left, err := os.ReadDir(group); err != nil || len(left) != len(files) {
			t.Errorf("the group has %v, error %v, want %q", left, err, files)
		}
	}
}
