package scaffold_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/scaffold"
)

// A project grows by all that there is to create, and compiles, and its tests pass: they run on the
// local cluster.
func TestAProjectGrows(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "memcached-operator")
	// The domain is one of its own, as clusters are shared with other tests.
	carryOut(t, scaffold.Init{Dir: dir, CI: true, Domain: "scaffold.example.com", Module: "example.com/memcached-operator"})
	carryOut(t, memcached(dir))
	if files := len(look(t, dir)) - folders(t, dir) - 2; files > 12 { // but for the two workflows
		t.Errorf("one kind has %d files", files)
	}
	golden(t, dir, "one.txt")
	carryOut(t, scaffold.API{Dir: dir, Group: "cache", Version: "v1alpha1", Kind: "CacheClass", Plural: "cacheclasses", ShortName: "cc", Cluster: true})
	carryOut(t, scaffold.API{Dir: dir, Group: "web", Version: "v1alpha1", Kind: "Token", NoController: true})
	carryOut(t, scaffold.Webhook{Dir: dir, Kind: "CacheClass", Default: true, Validate: true, ValidateDeletion: true})
	put(t, dir, "testdata/before.yaml", read(t, dir, "config/crd/cache.scaffold.example.com_memcacheds.yaml"))
	carryOut(t, scaffold.Version{Dir: dir, Kind: "Memcached", Version: "v1", Storage: true})
	carryOut(t, scaffold.Controller{Dir: dir, Kind: "Token"})
	carryOut(t, scaffold.Controller{Dir: dir, Group: "apps", Version: "v1", Kind: "Deployment"})
	golden(t, dir, "grown.txt")
	goes(t, dir, "mod", "tidy", "-diff")
	put(t, dir, "served_test.go", read(t, "testdata", "served_test.go.txt"))
	goes(t, dir, "test", "-ldflags=-w", "./...")
}

// An operator that serves an API of its own compiles, and answers on the local cluster.
func TestAnAPIServer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "usage-operator")
	carryOut(t, scaffold.Init{Dir: dir, Module: "example.com/usage-operator"})
	usage := scaffold.APIServer{Dir: dir, Group: "usage", Version: "v1alpha1", Kind: "Usage"}
	plan, err := usage.Plan(t.Context(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plan.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	for path := range look(t, dir) {
		if strings.HasPrefix(path, "config/crd/") {
			t.Errorf("%s: there is to be no definition", path)
		}
	}
	if role := read(t, dir, "config/rbac/role.yaml"); !strings.Contains(role, "\n  - v1alpha1.usage.") || !strings.Contains(role, "\n  - apiservices\n") {
		t.Errorf("the rights of an API server are not derived:\n%s", role)
	}
	before := look(t, dir)
	usage.Kind = "Load"
	if _, err := try(t, usage); err == nil || !strings.Contains(err.Error(), "main.go serves an API already") {
		t.Errorf("a second one: %v", err)
	}
	if after := look(t, dir); !maps.Equal(before, after) {
		t.Error("what failed changed the project")
	}
	goes(t, dir, "test", "-ldflags=-w", "./...")
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

// goes runs the go command, without a network.
func goes(t *testing.T, dir string, arguments ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", arguments...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "GOPROXY=off")
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("go %q: %v\n%s", arguments, err, said)
	}
}
