package workload_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/prove/workload"
)

// The workloads read from each file, or the errors, are the expected ones in another file.
func TestRead(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/read/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		all, err := workload.Read(file)
		var text strings.Builder
		if err != nil {
			text.WriteString(err.Error() + "\n")
		}
		for _, w := range all {
			if err := w.Validate(); err != nil {
				t.Errorf("%s is read, and not valid: %v", file, err)
			}
			text.WriteString(written(w))
		}
		for _, w := range all {
			text.WriteString("---\n" + string(must(yaml.Marshal(w))))
		}
		compare(t, strings.TrimSuffix(file, ".yaml")+".txt", text.String())
	}
}

func TestReadFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := workload.Read(dir); err == nil || !strings.Contains(err.Error(), "no scenarios in") {
		t.Error(err)
	}
	if _, err := workload.Read(filepath.Join(dir, "none.yaml")); !os.IsNotExist(err) {
		t.Error(err)
	}
	put := func(name, of string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("workload: "+of+"\nsteps:\n- delete: Secret/a\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("b.yml", "second")
	put("a.yaml", "first")
	all, err := workload.Read(dir)
	if err != nil || len(all) != 2 || all[0].Name != "first" || all[1].Name != "second" {
		t.Errorf("%+v, %v", all, err)
	}
	put("c.yaml", "first")
	if _, err := workload.Read(dir); err == nil || !strings.Contains(err.Error(), `two scenarios are named "first"`) {
		t.Error(err)
	}
}

// Any content of a file results in valid workloads or in an error with a position.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/read/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		all, err := workload.Parse("testdata/read/fuzzed.yaml", content)
		if err != nil && !strings.HasPrefix(err.Error(), "testdata/read/fuzzed.yaml:") {
			t.Errorf("an error without a place: %v", err)
		}
		for _, w := range all {
			if err := w.Validate(); err != nil {
				t.Errorf("read, and not valid: %v", err)
			}
		}
	})
}

// The example in the documentation can be read.
func TestTheDocumentedStepsAreRead(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/prove/workloads.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(page), "```yaml\n")
	shown, _, _ := strings.Cut(after, "```")
	all, err := workload.Parse("../../../examples/memcached/steps.yaml", []byte(shown))
	if err != nil || len(all) != 1 || len(all[0].Steps) != 8 {
		t.Errorf("%+v, %v", all, err)
	}
}
