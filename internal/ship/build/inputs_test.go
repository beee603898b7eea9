package build_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/ship/build"
	"github.com/operon-framework/operon/internal/ship/image"
)

// Packages in vendor are part of the commit, whatever the current directory is.
func TestVendoredProject(t *testing.T) {
	dir := project(t)
	vendor := exec.CommandContext(t.Context(), "go", "mod", "vendor")
	vendor.Dir = dir
	if output, err := vendor.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "with its dependencies")
	t.Chdir(dir)
	if revision := built(t, ".", build.Options{}).config(t).Config.Labels["org.opencontainers.image.revision"]; revision == "" || strings.HasSuffix(revision, "-dirty") {
		t.Errorf("the revision is %q", revision)
	}
}

// Files that the go command does not embed are no sources.
func TestEmbeddedDirectories(t *testing.T) {
	t.Parallel()
	dir := project(t)
	write(t, dir, "charts.go", "package main\n\nimport \"embed\"\n\n//go:embed charts\nvar charts embed.FS\n\nfunc init() {\n\tif _, err := charts.ReadFile(\"charts/a/chart.txt\"); err != nil {\n\t\tpanic(err)\n\t}\n}\n")
	write(t, dir, "charts/a/chart.txt", "a chart")
	if err := os.Symlink("../text", dir+"/charts/link"); err != nil {
		t.Fatal(err)
	}
	write(t, dir, ".gitignore", ".*.swp\n_work\n/charts/other/cache\n")
	write(t, dir, "charts/other/go.mod", "module github.com/someone/other\n")
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "with charts")
	for _, ignored := range []string{"charts/.chart.swp", "charts/_work/file", "charts/other/cache"} {
		write(t, dir, ignored, "not in the repository")
	}
	revision := func() string {
		return built(t, dir, build.Options{}).config(t).Config.Labels["org.opencontainers.image.revision"]
	}
	if found := revision(); strings.HasSuffix(found, "-dirty") {
		t.Errorf("the revision is %q", found)
	}
	write(t, dir, "charts.go", "package main\n\nimport \"embed\"\n\n//go:embed all:charts\nvar charts embed.FS\n\nfunc init() { _ = charts }\n")
	git(t, dir, "commit", "-qam", "with all charts")
	if found := revision(); !strings.HasSuffix(found, "-dirty") {
		t.Errorf("with hidden files that are embedded, the revision is %q", found)
	}
}

// SOURCE_DATE_EPOCH can be 1970.
func TestEpochOfZero(t *testing.T) {
	dir := committed(t)
	if created := built(t, dir, build.Options{}).config(t).Created; created.Equal(image.Epoch) {
		t.Errorf("created at the time of the commit: %s", created)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "0")
	if created := built(t, dir, build.Options{}).config(t).Created; !created.Equal(image.Epoch) {
		t.Errorf("created %s", created)
	}
}
