package up

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
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
	for file, want := range map[string]change{
		"main.go":                    sourcesChanged,
		"api/v1/types.go":            sourcesChanged,
		"go.mod":                     sourcesChanged,
		"templates/page.tmpl":        sourcesChanged,
		"main_test.go":               nothingChanged,
		"README.md":                  nothingChanged,
		"config/samples/a.yaml":      manifestsChanged,
		"config/crd/bases/a.yaml":    manifestsChanged,
		"config/samples/.a.yaml.swp": nothingChanged,
		"main.go~":                   nothingChanged,
		".git/index":                 nothingChanged,
		"bin/manager":                nothingChanged,
		"vendor/x/x.go":              nothingChanged,
	} {
		if got := classify("/p", filepath.Join("/p", file)); got != want {
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
