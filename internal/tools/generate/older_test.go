package generate_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/generate"
	projects "github.com/operon-framework/operon/internal/tools/project"
)

// olderVersions is an environment variable with versions of controller-gen to compare with, such as v0.18.0,v0.21.0.
const olderVersions = "OPERON_CONTROLLER_GEN"

// named matches the line with the generator's version in a definition.
var named = regexp.MustCompile(`(?m)^    controller-gen\.kubebuilder\.io/version: .*\n`)

// TestOlderVersions compares with versions of controller-gen that projects pin: for the layouts, they write the same, except
// for the names of their own versions.
func TestOlderVersions(t *testing.T) {
	t.Parallel()
	if os.Getenv(olderVersions) == "" {
		t.Skipf("each version takes a minute to build, and a network: %s=v0.18.0,v0.21.0 names them", olderVersions)
	}
	for _, version := range strings.Split(os.Getenv(olderVersions), ",") {
		tool := installed(t, version)
		for name, folder := range peers {
			if name == "every marker" {
				continue // most of its markers are newer than the version
			}
			dir := peer(t, folder)
			withoutNewOptions(t, dir)
			before := contents(t, dir)
			result, err := generate.Plan(t.Context(), dir, generate.Options{})
			if err != nil {
				t.Fatal(err)
			}
			asked, err := projects.ReadControllerGen(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, run := range asked.Runs {
				command := exec.CommandContext(t.Context(), tool, run.Arguments...)
				command.Dir = filepath.Join(dir, run.Dir)
				if output, err := command.CombinedOutput(); err != nil {
					t.Fatalf("%s on %s: %v\n%s", version, name, err, output)
				}
			}
			theirs := contents(t, dir)
			maps.DeleteFunc(theirs, func(path, content string) bool { return before[path] == content })
			for path, their := range theirs {
				our, _ := result.Changes.Content(path)
				if named.ReplaceAllString(string(our), "") != named.ReplaceAllString(their, "") {
					t.Errorf("%s on %s: %s differs", version, name, path)
				}
			}
			if len(theirs) == 0 {
				t.Errorf("%s on %s wrote nothing", version, name)
			}
		}
	}
}

// withoutNewOptions removes options from a Makefile that older versions do not know.
func withoutNewOptions(t *testing.T, dir string) {
	t.Helper()
	makefile := read(t, filepath.Join(dir, "Makefile"))
	write(t, dir, files{"Makefile": strings.ReplaceAll(makefile, ",fileName=manager_role.yaml", "")})
}

// installed builds a version of controller-gen.
func installed(t *testing.T, version string) string {
	t.Helper()
	folder := t.TempDir()
	command := exec.CommandContext(t.Context(), "go", "install", "sigs.k8s.io/controller-tools/cmd/controller-gen@"+version)
	command.Dir, command.Env = folder, append(os.Environ(), "GOBIN="+folder, "GOFLAGS=")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", version, err, output)
	}
	return filepath.Join(folder, "controller-gen")
}
