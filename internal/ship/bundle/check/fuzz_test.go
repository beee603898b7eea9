package check_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/ship/bundle/check"
)

// FuzzRun checks a bundle whose files have any content. No content may show a defect: neither a crash, nor an object or an upgrade that
// differs from what the bundle asks for.
func FuzzRun(f *testing.F) {
	for _, one := range entries() {
		files := one.Files()
		size := 0
		for _, content := range files {
			size += len(content)
		}
		if size < 20_000 {
			f.Add([]byte(files[csvFile]), []byte(files[crdFile]), []byte(files[noteFile]), []byte(files[needFile]))
		}
	}
	f.Fuzz(func(t *testing.T, csv, crd, notes, needs []byte) {
		dir := t.TempDir()
		writeFiles(t, filepath.Join(dir, "bundle"), map[string]string{csvFile: string(csv), crdFile: string(crd), noteFile: string(notes), needFile: string(needs)})
		made, err := check.Run(t.Context(), []string{dir}, check.Options{Jobs: 1, Limit: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range made.Bundles {
			if one.Outcome == check.Defect {
				t.Error(text(one.Findings))
			}
		}
		for _, one := range made.Packages {
			if one.Outcome == check.Defect {
				t.Error(text(one.Findings))
			}
		}
	})
}
