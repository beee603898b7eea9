package check_test

import (
	"flag"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/ship/bundle/check"
)

// FuzzRun checks a bundle whose files have any content. No content may show a defect: neither a crash, nor an object or an upgrade that
// differs from what the bundle asks for.
func FuzzRun(f *testing.F) {
	fuzzing := flag.Lookup("test.fuzz").Value.String() != ""
	seeds := 0
	for _, one := range entries() {
		files := one.Files()
		size, others := 0, false
		for name, content := range files {
			size += len(content)
			others = others || !slices.Contains([]string{csvFile, crdFile, noteFile, needFile}, name)
		}
		// TestCorpus has checked those that have no other files.
		if size < 20_000 && (fuzzing || others || seeds == 0) {
			seeds++
			f.Add([]byte(files[csvFile]), []byte(files[crdFile]), []byte(files[noteFile]), []byte(files[needFile]))
		}
	}
	f.Fuzz(func(t *testing.T, csv, crd, notes, needs []byte) {
		dir := t.TempDir()
		writeFiles(t, filepath.Join(dir, "bundle"), map[string]string{csvFile: string(csv), crdFile: string(crd), noteFile: string(notes), needFile: string(needs)})
		made, err := check.Run(t.Context(), []string{dir}, check.Options{Jobs: 1, Limit: time.Minute})
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
