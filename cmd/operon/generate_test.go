package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pages writes a project with one kind, and the dependencies of the example.
func pages(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	example := filepath.Join(root, "examples/memcached")
	module, err := os.ReadFile(filepath.Join(example, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(example, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for path, content := range map[string]string{
		"go.mod":  strings.NewReplacer("operon/examples/memcached", "operon/examples/pages", "=> ../..", "=> "+root).Replace(string(module)),
		"go.sum":  string(sums),
		"main.go": "package main\n\nfunc main() {}\n",
		"api/v1/types.go": "// +groupName=web.example.com\npackage v1\n\nimport metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n\n" +
			"// +kubebuilder:object:root=true\ntype Page struct {\n\tmetav1.TypeMeta `json:\",inline\"`\n\tmetav1.ObjectMeta `json:\"metadata,omitempty\"`\n}\n",
	} {
		file := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestGenerate(t *testing.T) {
	t.Parallel()
	dir := pages(t)
	const definition = "config/crd/web.example.com_pages.yaml"
	if got := operon(t, "generate", "--dry-run", dir); got.code != 0 || !strings.Contains(got.stdout, definition+"\n") {
		t.Errorf("%d %s %s", got.code, got.stdout, got.stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "config")); err == nil {
		t.Error("a dry run wrote something")
	}
	got := operon(t, "generate", "-o", "json", dir)
	var told struct{ Changed []string }
	if err := json.Unmarshal([]byte(got.stdout), &told); got.code != 0 || err != nil || !slices.Contains(told.Changed, definition) {
		t.Errorf("%d %s %s: %v", got.code, got.stdout, got.stderr, err)
	}
	file := filepath.Join(dir, definition)
	if err := os.WriteFile(file, []byte("edited\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got = operon(t, "generate", "--check", dir)
	if got.code != exitFindings || !strings.Contains(got.stdout, "--- a/"+definition) || !strings.Contains(got.stdout, "\n-edited\n") ||
		!strings.Contains(got.stderr, "1 generated file is stale: run `operon generate` and commit the result") {
		t.Errorf("%d %s %s", got.code, got.stdout, got.stderr)
	}
	if content, err := os.ReadFile(file); err != nil || string(content) != "edited\n" {
		t.Errorf("a check wrote %q, %v", content, err)
	}
}
