package check_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/ship/bundle/check"
	"github.com/operon-framework/operon/internal/testing/bundles"
	"github.com/operon-framework/operon/internal/tools/project"
)

// large is a CSV of 40 KB. As in published ones, half of it is the icon and the description.
func large() string {
	var more strings.Builder
	for more.Len() < 17_000 {
		more.WriteString("  - description: Size is the number of pods that run a thing, at least one.\n    displayName: Size\n    path: size\n    x-descriptors: ['urn:alm:descriptor:com.tectonic.ui:podCount']\n")
	}
	text := "  icon: [{mediatype: image/png, base64data: " + bundles.Text(14_000) + "}]\n  details: |\n" + strings.Repeat("    Manages things, and keeps them as they should be.\n", 140)
	return entryOf("large", "", field(text+"  descriptors:\n"+strings.TrimRight(more.String(), "\n"))).Files()[csvFile]
}

func BenchmarkParse(b *testing.B) {
	content := []byte(large())
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		if all, err := project.Parse("csv.yaml", content); err != nil || len(all) != 1 {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "large")
	entryOf("large", "").Write(b, dir)
	writeFiles(b, dir, map[string]string{csvFile: large()})
	for b.Loop() {
		if _, err := bundle.Read(dir); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "large")
	entryOf("large", "").Write(b, dir)
	writeFiles(b, dir, map[string]string{csvFile: large()})
	for b.Loop() {
		if _, err := check.Run(b.Context(), []string{dir}, check.Options{Jobs: 1}); err != nil {
			b.Fatal(err)
		}
	}
}
