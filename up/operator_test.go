package up

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/project"
)

// projectOf reads a project with this go.mod and main.go.
func projectOf(t *testing.T, require, source string) *project.Project {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":               "module example.com/web\n\ngo 1.26\n\nrequire " + require + " v0.1.0\n",
		"main.go":              "package main\n\nfunc main() { " + source + " }\n",
		"config/rbac/role.yml": "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: web\n",
	} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := project.Read(dir, project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFlagsAreThoseThatTheOperatorUnderstands(t *testing.T) {
	t.Parallel()
	const operon, kubebuilder = "github.com/operon-framework/operon", "sigs.k8s.io/controller-runtime"
	for name, test := range map[string]struct {
		p    *project.Project
		want string
	}{
		"Operon":         {projectOf(t, operon, ""), "--metrics-bind-address=127.0.0.1:1 --health-probe-bind-address=127.0.0.1:2 --leader-elect=false"},
		"kubebuilder v3": {projectOf(t, kubebuilder, `_, _ = "metrics-bind-address", "leader-elect"`), "--metrics-bind-address=127.0.0.1:1 --leader-elect=false"},
		"kubebuilder v4": {projectOf(t, kubebuilder, `_, _ = "metrics-bind-address", "metrics-secure"`), "--metrics-bind-address=127.0.0.1:1 --metrics-secure=false"},
		"another":        {projectOf(t, "example.com/other", ""), ""},
	} {
		if got := strings.Join(flags(test.p, 1, 2), " "); got != test.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

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

func TestFreePortsAreDifferent(t *testing.T) {
	t.Parallel()
	ports, err := freePorts(3)
	if err != nil || len(ports) != 3 || ports[0] == ports[1] || ports[1] == ports[2] {
		t.Errorf("%v, %v", ports, err)
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
	// The new folder is watched as well.
	if err := os.WriteFile(filepath.Join(folder, "d.go"), []byte("package a"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, c); !slices.Equal(got, []change{sourcesChanged}) {
		t.Errorf("in a new folder: %v", got)
	}
}

func receive(t *testing.T, c *changes) []change {
	t.Helper()
	select {
	case got := <-c.out:
		return got
	case <-time.After(10 * time.Second):
		t.Fatal("no change is told")
		return nil
	}
}
