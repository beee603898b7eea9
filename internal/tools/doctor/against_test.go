package doctor

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAgainstARevision: older definitions are read from git, whatever the directory contains now, in a project that is a
// subdirectory of its repository. Patches for kustomize are not definitions.
func TestAgainstARevision(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir := filepath.Join(top, "operators", "web")
	folder := filepath.Join(dir, "config", "crd", "bases")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	older, err := os.ReadFile("testdata/rules/crd-unsafe/older/webs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "webs.yaml")
	put := func(name, content string) {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put(file, string(older))
	put(filepath.Join(dir, "config", "crd", "kustomization.yaml"), "resources: [bases/webs.yaml] # CustomResourceDefinition\n")
	patches := filepath.Join(dir, "config", "crd", "patches")
	if err := os.Mkdir(patches, 0o755); err != nil {
		t.Fatal(err)
	}
	put(filepath.Join(patches, "webhook_in_webs.yaml"), "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: webs.example.com\nspec:\n  conversion:\n    strategy: Webhook\n")
	put(filepath.Join(patches, "scope.yaml"), "# of a CustomResourceDefinition\n- op: remove\n  path: /spec/conversion\n")
	commit := func() {
		for _, call := range []string{"init -q", "add .", "-c user.name=a -c user.email=a@example.com commit -q -m one"} {
			command := exec.Command("git", strings.Fields(call)...)
			command.Dir = top
			if output, err := command.CombinedOutput(); err != nil {
				t.Fatalf("git %s: %v: %s", call, err, output)
			}
		}
	}
	commit()
	put(file, "kind: CustomResourceDefinition\nnothing: [")
	found, err := olderDefinitions(t.Context(), dir, "HEAD")
	if err != nil || len(found) != 1 || found["webs.example.com"] == nil || found["webs.example.com"].Spec.Names.Kind == "" {
		t.Errorf("found %v, %v", found, err)
	}
	commit()
	for against, want := range map[string]string{
		"v9":                    "--against v9: not a file, directory or git revision in ",
		"--upload-pack=x":       "not a file, directory or git revision",
		t.TempDir():             "contains no CRDs",
		file:                    "webs.yaml:",
		"HEAD":                  "--against HEAD: config/crd/bases/webs.yaml:",
		"testdata/rules/nosuch": "not a file",
	} {
		if _, err := olderDefinitions(t.Context(), dir, against); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--against %s: %v", against, err)
		}
	}
}

// A partial clone does not fetch a missing commit: its configuration can name a program for that.
func TestAgainstFetchesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	for _, arguments := range [][]string{
		{"init", "-q"}, {"config", "core.repositoryFormatVersion", "1"}, {"config", "extensions.partialClone", "origin"},
		{"config", "remote.origin.url", dir}, {"config", "remote.origin.uploadpack", "touch " + ran + "; git-upload-pack"},
	} {
		command := exec.Command("git", arguments...)
		command.Dir = dir
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", arguments, err, output)
		}
	}
	if _, err := olderDefinitions(t.Context(), dir, strings.Repeat("1", 40)); err == nil || !strings.Contains(err.Error(), "not a file, directory or git revision") {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of the repository's configuration ran")
	}
}

// TestExamineRefusesWhatItCannotRead: Examine returns one clear error, with the compiler's message if there is one.
func TestExamineRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	const module = "module example.com/web\n\ngo 1.26\n"
	definition, err := os.ReadFile("testdata/rules/number-bounds/good/config/crd/webs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"code":     {map[string]string{"go.mod": module, "main.go": "package main\n\nfunc main() { lost() }\n", "config/crd/a.yaml": string(definition)}, "the code does not compile:\nmain.go:3:15: undefined: lost"},
		"manifest": {map[string]string{"go.mod": module, "main.go": "package main\n\nfunc main() {}\n", "config/crd/a.yaml": "kind: ["}, "config/crd/a.yaml:1: "},
		"module":   {map[string]string{"main.go": "package main\n\nfunc main() {}\n"}, "it has neither a go.mod nor a watches.yaml"},
	} {
		dir := t.TempDir()
		for file, content := range test.files {
			path := filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Examine(t.Context(), dir, Options{}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
