package prove

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/operon-framework/operon/internal/prove/report"
)

// Reports contain the operator's log and command line.
func TestReportsAreForThisUserAlone(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "reports")
	path := filepath.Join(folder, "report.txt")
	if err := prepare(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil { // as an earlier version wrote it
		t.Fatal(err)
	}
	if err := writeFile(path, &report.Report{}, func(io.Writer, report.Report) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]os.FileMode{folder: 0o700, path: 0o600} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", file, info.Mode().Perm(), err, want)
		}
	}
}
