package generate_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/generate"
)

func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "operon-generate-test-")
	if err == nil {
		err = os.Setenv("OPERON_HOME", home)
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(home)
	os.Exit(code)
}

// settle sets the modification times of all files of a project before the run: files that change during a run are not
// remembered.
func settle(t *testing.T, dir string) {
	t.Helper()
	old := time.Now().Add(-time.Hour)
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return os.Chtimes(path, old, old)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func apply(t *testing.T, result *generate.Result) string {
	t.Helper()
	changed, err := result.Apply(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(changed, " ")
}

const definition = "config/crd/web.example.com_pages.yaml"

// Each step changes something after a run, and names the files that the next run changes. If nothing changed, the run is
// skipped.
func TestNothingIsLoadedWhereNothingChanged(t *testing.T) {
	t.Parallel()
	dir := project(t, files{"main.go": mainFile, "api/v1/types.go": types, "README.md": "web\n"})
	settle(t, dir)
	if changed := apply(t, plan(t, dir)); changed == "" {
		t.Fatal("nothing was generated")
	}
	edit := func(file, from, to string) func() {
		return func() {
			source := read(t, filepath.Join(dir, file))
			if !strings.Contains(source, from) {
				t.Fatalf("%s holds no %q", file, from)
			}
			write(t, dir, files{file: strings.Replace(source, from, to, 1)})
		}
	}
	for _, step := range []struct {
		name   string
		change func()
		want   string // files that change; "skipped"; "" loads and changes nothing
	}{
		{"nothing", func() {}, "skipped"},
		{"a file that does not matter", edit("README.md", "web", "Web"), "skipped"},
		{"the time of a source", func() { settle(t, filepath.Join(dir, "api")) }, "skipped"},
		{"a body", edit("main.go", "func main() {}", "func main() { println() }"), ""},
		{"a marker", edit("api/v1/types.go", "MinLength=1", "MinLength=2"), definition},
		{"an output was edited", edit(definition, "minLength: 2", "minLength: 3"), definition},
		{"an output was deleted", func() { os.Remove(filepath.Join(dir, "config/rbac/role.yaml")) }, "config/rbac/role.yaml"},
		{"a setting", edit("main.go", "--role-name web-operator", "--role-name page-operator"), "config/rbac/role.yaml"},
		{"a new package", func() {
			write(t, dir, files{"api/v2/types.go": strings.Replace(types, "package v1", "package v2", 1) + "// +kubebuilder:storageversion\n"})
			edit("api/v2/types.go", "// +kubebuilder:object:root=true", "// +kubebuilder:object:root=true\n// +kubebuilder:storageversion")()
		}, "api/v2/zz_generated.deepcopy.go " + definition},
		{"go.mod", edit("go.mod", "go 1.26.0", "go 1.26.0\n"), ""},
		{"nothing, after all that", func() {}, "skipped"},
	} {
		step.change()
		if step.want != "skipped" {
			settle(t, dir)
		}
		result := plan(t, dir)
		if result.Skipped != (step.want == "skipped") {
			t.Errorf("%s: skipped: %t", step.name, result.Skipped)
		}
		if changed := apply(t, result); !result.Skipped && changed != step.want {
			t.Errorf("%s: changed %q, want %q", step.name, changed, step.want)
		}
	}
}

// Files that the Makefile includes or names are inputs, whatever their names are.
func TestFilesOfTheMakefileAreInputs(t *testing.T) {
	t.Parallel()
	dir := kubebuilders(t, files{
		"Makefile":            "include .bingo/Variables.mk\nmanifests:\n\tcontroller-gen crd:maxDescLen=$(LONGEST) object:headerFile=hack/header paths=./...\n",
		".bingo/Variables.mk": "LONGEST := 0\n", "hack/header": "// Ours.\n",
	})
	settle(t, dir)
	apply(t, plan(t, dir))
	for _, file := range []string{".bingo/Variables.mk", "hack/header"} {
		if !plan(t, dir).Skipped {
			t.Errorf("before %s changes, nothing is skipped", file)
		}
		write(t, dir, files{file: read(t, filepath.Join(dir, file)) + "\n"})
		settle(t, dir)
		result := plan(t, dir)
		if apply(t, result); result.Skipped {
			t.Errorf("after %s changed, all is skipped", file)
		}
	}
}

// Another program that finds packages can read files that are unknown here.
func TestNothingIsSkippedWithADriver(t *testing.T) {
	driver := filepath.Join(t.TempDir(), "driver")
	testaid.Program(t, driver, "#!/bin/sh\necho '{\"NotHandled\": true}'\n")
	t.Setenv("GOPACKAGESDRIVER", driver)
	dir := project(t, files{"main.go": mainFile, "api/v1/types.go": types})
	settle(t, dir)
	if apply(t, plan(t, dir)); plan(t, dir).Skipped {
		t.Error("the second run is skipped")
	}
}

func TestAStampThatIsGarbledIsIgnored(t *testing.T) {
	t.Parallel()
	dir := project(t, files{"main.go": mainFile, "api/v1/types.go": types})
	settle(t, dir)
	apply(t, plan(t, dir))
	if err := os.WriteFile(generate.StampOf(dir), []byte(`{"Settings": 1`), 0o600); err != nil {
		t.Fatal(err)
	}
	result := plan(t, dir)
	if changed := apply(t, result); result.Skipped || changed != "" {
		t.Errorf("skipped: %t, changed %q", result.Skipped, changed)
	}
}

// A file that changes while it is being read may have been read before or after the change: the next run reads it again.
func TestAnEditDuringARunIsNotMissed(t *testing.T) {
	t.Parallel()
	dir := project(t, files{"main.go": mainFile, "api/v1/types.go": types})
	settle(t, dir)
	result := plan(t, dir)
	write(t, dir, files{"api/v1/types.go": strings.Replace(types, "MinLength=1", "MinLength=7", 1)})
	apply(t, result)
	next := plan(t, dir)
	if changed := apply(t, next); next.Skipped || changed != definition {
		t.Errorf("skipped: %t, changed %q", next.Skipped, changed)
	}
}

func TestAnInterruptedRunChangesNothing(t *testing.T) {
	t.Parallel()
	dir := project(t, files{"main.go": mainFile, "api/v1/types.go": types})
	ctx, cancel := context.WithCancel(t.Context())
	options := generate.Options{Tell: func(string) { cancel() }}
	if _, err := generate.Plan(ctx, dir, options); err == nil || ctx.Err() == nil {
		t.Errorf("it ended with %v", err)
	}
	if made, _ := filepath.Glob(filepath.Join(dir, "config")); made != nil {
		t.Errorf("there is %s", made)
	}
}
