package up

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/testing/testaid"
)

func TestTheOperatorsEnvironmentPointsToItsOwnIdentity(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	t.Setenv("KUBECONFIG", "/the/users/own")
	t.Setenv("HTTP_PROXY", "http://proxy")
	o := &operator{folder: &folder{path: "/state"}, who: identity{"web-system", "web"}}
	got := o.environment()
	for _, want := range []string{"KUBECONFIG=/state/kubeconfig", "POD_NAMESPACE=web-system", "ENABLE_WEBHOOKS=false", "HTTP_PROXY=http://proxy"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s", want)
		}
	}
	if last := slices.Index(got, "KUBECONFIG=/the/users/own"); last > slices.Index(got, "KUBECONFIG=/state/kubeconfig") {
		t.Error("the user's kubeconfig wins")
	}
	if slices.Contains(got, "KUBERNETES_SERVICE_HOST=10.0.0.1") {
		t.Error("the operator would take itself for one in a cluster")
	}
}

func TestPortsAreDifferentAndLeft(t *testing.T) {
	t.Parallel()
	o := &operator{}
	if err := o.keepPorts(3); err != nil {
		t.Fatal(err)
	}
	if len(o.ports) != 3 || o.ports[0].Number == o.ports[1].Number || o.ports[1].Number == o.ports[2].Number {
		t.Errorf("%v", o.ports)
	}
	if o.stop(); o.ports != nil {
		t.Errorf("kept without a process: %v", o.ports)
	}
}

func TestClassifyTellsWhatAFileIsPartOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for file, content := range map[string]string{
		"main.go":                     "package main\n\nimport \"embed\"\n\n//go:embed config/crd/bases all:config/defaults/*.json \"config/with space\"\nvar files embed.FS\n",
		"other.go":                    "not Go",
		"config/new/code/code.go":     "package code\n",
		"config/crd/bases/new/a.yaml": "",
		"config/samples/new/a.yaml":   "",
		"config/embed.go":             "package config\n\nimport _ \"embed\"\n\n//go:embed page.tmpl\nvar page string\n",
	} {
		testaid.Write(t, filepath.Join(dir, file), content)
	}
	sources, manifests, both := []change{sourcesChanged}, []change{manifestsChanged}, []change{sourcesChanged, manifestsChanged}
	for file, want := range map[string][]change{
		"main.go":                    sources,
		"api/v1/types.go":            sources,
		"go.mod":                     sources,
		"templates/page.tmpl":        sources,
		"main_test.go":               nil,
		"README.md":                  nil,
		"config/samples/a.yaml":      manifests,
		"config/crd/a.yaml":          manifests,
		"config/crd/bases/a.yaml":    both,
		"config/crd/bases/deep/a":    both,
		"config/defaults/a.json":     both,
		"config/defaults/a.yaml":     manifests,
		"config/with space/a":        both,
		"config/page.tmpl":           both,
		"config/embed.go":            both,
		"config/deep/code.go":        both,
		"config/embed_test.go":       manifests,
		"config/new":                 both,
		"config/crd/bases/new":       both,
		"config/crd":                 both,
		"config/samples/new":         manifests,
		"config/samples/.a.yaml.swp": nil,
		"main.go~":                   nil,
		".git/index":                 nil,
		"bin/manager":                nil,
		"vendor/x/x.go":              nil,
	} {
		if got := classify(dir, filepath.Join(dir, file)); !slices.Equal(got, want) {
			t.Errorf("%s is %s, want %s", file, got, want)
		}
	}
}

func TestABurstOfChangesIsOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, err := watchChanges(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "api")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.go", "b.go", "c.go"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("package a"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := receive(t, c); !slices.Equal(got, []change{sourcesChanged}) {
		t.Errorf("got %v", got)
	}
	// The new directory is watched as well.
	if err := os.WriteFile(filepath.Join(folder, "d.go"), []byte("package a"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, c); !slices.Equal(got, []change{sourcesChanged}) {
		t.Errorf("in a new directory: %v", got)
	}
}

func receive(t *testing.T, c *changes) []change {
	t.Helper()
	select {
	case got := <-c.out:
		return got
	case <-time.After(time.Minute):
		t.Fatal("no change is told")
		return nil
	}
}
