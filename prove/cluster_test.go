package prove

import (
	"os"
	"path/filepath"
	"testing"
)

// The directory of a killed session is removed by the next session. The directory of a running session stays.
func TestFolderOfAKilledSession(t *testing.T) {
	t.Setenv("OPERON_HOME", t.TempDir())
	first, remove, err := Folder()
	if err != nil {
		t.Fatal(err)
	}
	killed := filepath.Join(filepath.Dir(first), "session-killed")
	if err := os.Mkdir(killed, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(killed+".lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	second, removeSecond, err := Folder()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(killed); !os.IsNotExist(err) {
		t.Errorf("what the killed one left: %v", err)
	}
	for _, path := range []string{first, second} {
		if about, err := os.Stat(path); err != nil || about.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", path, about, err)
		}
	}
	for _, do := range []func() error{remove, removeSecond} {
		if err := do(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(first)); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
