package scaffold_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/scaffold"
)

// After everything that can be created was added to a project, it compiles, and its tests pass on the local cluster.
func TestAProjectGrows(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "memcached-operator")
	// The domain is unique, because the cluster is shared with other tests.
	carryOut(t, scaffold.Init{Dir: dir, CI: true, Domain: "scaffold.example.com", Module: "example.com/memcached-operator"})
	carryOut(t, memcached(dir))
	if files := len(look(t, dir)) - folders(t, dir) - 2; files > 12 { // except for the two workflows
		t.Errorf("one kind has %d files", files)
	}
	golden(t, dir, "one.txt")
	carryOut(t, scaffold.API{Dir: dir, Group: "cache", Version: "v1alpha1", Kind: "CacheClass", Plural: "cacheclasses", ShortName: "cc", Cluster: true})
	carryOut(t, scaffold.API{Dir: dir, Group: "web", Version: "v1alpha1", Kind: "Token", NoController: true})
	carryOut(t, scaffold.Webhook{Dir: dir, Kind: "CacheClass", Default: true, Validate: true, ValidateDeletion: true})
	put(t, dir, "testdata/before.yaml", read(t, dir, "config/crd/cache.scaffold.example.com_memcacheds.yaml"))
	carryOut(t, scaffold.Version{Dir: dir, Kind: "Memcached", Version: "v1beta1"})
	carryOut(t, scaffold.Version{Dir: dir, Kind: "CacheClass", Version: "v1beta1"}) // together with the other kind
	carryOut(t, scaffold.Version{Dir: dir, Kind: "Memcached", Version: "v1", Storage: true})
	carryOut(t, scaffold.Version{Dir: dir, Kind: "Memcached", Version: "v2alpha1", From: "v1alpha1"})
	carryOut(t, scaffold.Controller{Dir: dir, Kind: "Token"})
	carryOut(t, scaffold.Controller{Dir: dir, Group: "apps", Version: "v1", Kind: "Deployment"})
	golden(t, dir, "grown.txt")
	goes(t, dir, "mod", "tidy", "-diff")
	put(t, dir, "served_test.go", read(t, "testdata", "served_test.go.txt"))
	goes(t, dir, "test", "-ldflags=-w", "./...")
}

// An operator that serves its own API compiles, and answers on the local cluster.
func TestAnAPIServer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "usage-operator")
	carryOut(t, scaffold.Init{Dir: dir, Module: "example.com/usage-operator"})
	createServed(t, dir, "usage", "v1alpha1", "Usage")
	for path := range look(t, dir) {
		if strings.HasPrefix(path, "config/crd/") {
			t.Errorf("%s: there is to be no definition", path)
		}
	}
	createServed(t, dir, "usage", "v1alpha1", "Load")    // with the same version
	createServed(t, dir, "usage", "v1beta1", "Forecast") // of another one
	createServed(t, dir, "power", "v1alpha1", "Outage")
	for _, line := range []string{
		"aggregated.Serve((&runtime.SchemeBuilder{v1alpha1.AddToScheme, v1beta1.AddToScheme, powerv1alpha1.AddToScheme}).AddToScheme,",
		"aggregated.Kind(Usage{}, usageResource),", "aggregated.Kind(Load{}, loadResource),", "aggregated.Kind(Outage{}, outageResource)",
	} {
		if content := read(t, dir, "main.go"); !strings.Contains(content, line) {
			t.Errorf("%s is not in\n%s", line, content)
		}
	}
	for _, version := range []string{"v1alpha1.usage.example.com", "v1beta1.usage.example.com", "v1alpha1.power.example.com"} {
		if role := read(t, dir, "config/rbac/role.yaml"); !strings.Contains(role, "\n  - "+version+"\n") || !strings.Contains(role, "\n  - apiservices\n") {
			t.Errorf("the rights to serve %s are not derived:\n%s", version, role)
		}
	}
	before := look(t, dir)
	for want, wanted := range map[string]scaffold.APIServer{
		"the name Load is taken in api/v1alpha1/load_types.go":                 {Group: "usage", Version: "v1alpha1", Kind: "Load"},
		"loads is already served (load.go): choose another name with --plural": {Group: "usage", Version: "v1alpha1", Kind: "Burden", Plural: "loads"},
	} {
		wanted.Dir = dir
		if _, err := wanted.Plan(t.Context(), func(string) {}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	same(t, look(t, dir), before)
	put(t, dir, "all_test.go", read(t, "testdata", "all_test.go.txt"))
	goes(t, dir, "test", "-ldflags=-w", "./...")
}

// createServed adds a kind that the operator serves itself. It looks up modules.
func createServed(t *testing.T, dir, group, version, kind string) {
	t.Helper()
	before := look(t, dir)
	plan, err := scaffold.APIServer{Dir: dir, Group: group, Version: version, Kind: kind}.Plan(t.Context(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	same(t, look(t, dir), before) // before the plan is applied
	if _, err := plan.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func folders(t *testing.T, dir string) int {
	t.Helper()
	n := 0
	for path := range look(t, dir) {
		if path[len(path)-1] == '/' {
			n++
		}
	}
	return n
}

// goes runs the go command without network access.
func goes(t *testing.T, dir string, arguments ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", arguments...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "GOPROXY=off")
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("go %q: %v\n%s", arguments, err, said)
	}
}
