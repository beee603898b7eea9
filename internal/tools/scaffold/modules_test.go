package scaffold_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/operon-framework/operon/internal/tools/scaffold"
)

var update = flag.Bool("update", false, "write the golden files, and what go.mod and go.sum of projects hold")

// `go mod tidy` changes nothing in a new project, with or without a kind, and the project and its tests compile without a network: all
// modules that they need are also needed to build Operon. `go mod tidy` itself needs more, for the tests of other modules.
//
// If this fails because a package that projects use has a new dependency, run it with -update.
func TestAFreshProjectIsTidy(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "memcached-operator")
	carryOut(t, scaffold.Init{Dir: dir})
	tidy(t, dir, "init")
	carryOut(t, memcached(dir))
	tidy(t, dir, "kind")
}

// The first kind changes go.mod, so that the vendor directory does not fit it any more.
func TestAVendorDirectoryIsRenewed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "memcached-operator")
	carryOut(t, scaffold.Init{Dir: dir})
	put(t, dir, "vendor/modules.txt", "# without the modules of a kind\n")
	plan, err := memcached(dir).Plan(t.Context(), func(string) {})
	if err != nil || plan.Next[0] != "go mod vendor" {
		t.Errorf("%+v, %v", plan, err)
	}
}

// own matches lines of go.mod that differ between projects.
var own = regexp.MustCompile(`(?m)^replace .*\n\n?`)

func tidy(t *testing.T, dir, pinned string) {
	t.Helper()
	arguments := []string{"mod", "tidy", "-diff"}
	if *update {
		arguments = arguments[:2]
	}
	if said, err := goIn(t, dir, nil, arguments...); err != nil {
		t.Errorf("go mod tidy would change the project (%v):\n%s", err, said)
	}
	if !*update {
		if said, err := goIn(t, dir, []string{"GOPROXY=off"}, "list", "-deps", "-test", "./..."); err != nil {
			t.Errorf("the project needs modules that Operon does not need (%v):\n%s", err, said)
		}
		return
	}
	mod := own.ReplaceAllString(read(t, dir, "go.mod"), "")
	for file, content := range map[string]string{pinned + ".mod.txt": mod, pinned + ".sum.txt": read(t, dir, "go.sum")} {
		if err := os.WriteFile(filepath.Join("modules", file), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// goIn calls go in the module in dir.
func goIn(t *testing.T, dir string, env []string, arguments ...string) ([]byte, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", arguments...)
	command.Dir = dir
	command.Env = append(append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod"), env...)
	return command.CombinedOutput()
}
