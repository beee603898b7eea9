package generate_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/operon-framework/operon/internal/tools/generate"
	projects "github.com/operon-framework/operon/internal/tools/project"
)

// peers lists the projects for which controller-gen and Operon generate the same: every marker, and the layouts of
// kubebuilder and Operator SDK.
var peers = map[string]string{
	"every marker":             "testdata/every",
	"v4, with webhooks":        "../project/testdata/v4",
	"v4, with several groups":  "../project/testdata/multigroup",
	"v3, with options in YAML": "../project/testdata/v3",
}

// deliberate lists the intended differences from controller-gen, by project and file. It replaces text in controller-gen's
// file by the text that Operon writes.
var deliberate = map[string]map[string]*strings.Replacer{
	// The Makefile pins an older version, whose output for these types is the same. Its name is kept, so that running either tool
	// changes nothing.
	"v3, with options in YAML": {
		"config/crd/bases/jobs.layout.test_queues.yaml": strings.NewReplacer("version: v0.23.0", "version: v0.14.0"),
	},
}

// controllerGen returns the path of controller-gen, built once, in the version in go.mod.
var controllerGen = sync.OnceValues(func() (string, error) {
	path, err := exec.Command("go", "tool", "-n", "controller-gen").Output()
	return strings.TrimSpace(string(path)), err
})

// TestSameAsControllerGen runs controller-gen as in each project's Makefile, and Operon, and compares every file that either
// writes.
func TestSameAsControllerGen(t *testing.T) {
	t.Parallel()
	for name, folder := range peers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := peer(t, folder)
			before := contents(t, dir)
			result, err := generate.Plan(t.Context(), dir, generate.Options{})
			if err != nil {
				t.Fatal(err)
			}
			runControllerGen(t, dir)
			theirs := contents(t, dir)
			maps.DeleteFunc(theirs, func(path, content string) bool { return before[path] == content })
			if len(theirs) == 0 {
				t.Fatal("controller-gen wrote nothing")
			}
			compare(t, name, theirs, result)
		})
	}
}

func compare(t *testing.T, name string, theirs files, ours *generate.Result) {
	t.Helper()
	if got, want := ours.Changes.Paths(), slices.Sorted(maps.Keys(theirs)); !slices.Equal(got, want) {
		t.Errorf("wrote\n%s\ncontroller-gen wrote\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for path, their := range theirs {
		if replacer := deliberate[name][path]; replacer != nil {
			if replaced := replacer.Replace(their); replaced != their {
				their = replaced
			} else {
				t.Errorf("%s: the difference that is said to be deliberate is none", path)
			}
		}
		our, _ := ours.Changes.Content(path)
		if string(our) != their {
			diff, _ := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: difflib.SplitLines(their), B: difflib.SplitLines(string(our)), FromFile: "controller-gen", ToFile: "operon", Context: 3})
			t.Errorf("%s differs:\n%s", path, diff)
		}
	}
}

// peer copies a project. If it does not have a go.mod, it gets one that finds the dependencies of the examples.
func peer(t *testing.T, folder string) string {
	t.Helper()
	return project(t, contents(t, folder))
}

// contents returns the files below a directory.
func contents(t *testing.T, folder string) files {
	t.Helper()
	all := files{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		all[filepath.ToSlash(relative)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// runControllerGen runs the controller-gen commands of the Makefile in dir.
func runControllerGen(t *testing.T, dir string) {
	t.Helper()
	tool, err := controllerGen()
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
			t.Fatalf("controller-gen %s: %v\n%s", strings.Join(run.Arguments, " "), err, output)
		}
	}
}

// TestSchemapatchIsTheSame: both patch the schemas of manually written definitions in the same way.
func TestSchemapatchIsTheSame(t *testing.T) {
	t.Parallel()
	const byHand = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: pages.web.example.com\n  annotations:\n    controller-gen.kubebuilder.io/version: v0.3.0\n" +
		"spec:\n  group: web.example.com\n  scope: Namespaced\n  names: {kind: Page, plural: pages} # ours\n  versions:\n  - name: v1\n    served: true\n    storage: true\n"
	dir := kubebuilders(t, files{
		"manifests/pages.yaml": byHand,
		"Makefile":             "manifests:\n\tcontroller-gen schemapatch:manifests=manifests output:dir=manifests paths=./...\n",
	})
	result := plan(t, dir)
	before := contents(t, dir)
	runControllerGen(t, dir)
	theirs := contents(t, dir)
	maps.DeleteFunc(theirs, func(path, content string) bool { return before[path] == content })
	if !strings.Contains(theirs["manifests/pages.yaml"], "openAPIV3Schema") {
		t.Fatalf("controller-gen wrote %v", theirs)
	}
	compare(t, "", theirs, result)
}

// TestEveryMarkerIsCompared: the sources of the comparison contain each marker of controller-gen, at each place where it may
// be: above a package, a type and a field.
func TestEveryMarkerIsCompared(t *testing.T) {
	t.Parallel()
	tool, err := controllerGen()
	if err != nil {
		t.Fatal(err)
	}
	output, err := exec.CommandContext(t.Context(), tool, "crd", "rbac:roleName=x", "webhook", "object", "-wwww").Output()
	if err != nil {
		t.Fatal(err)
	}
	var known []struct {
		Markers []struct{ Name, Target string }
	}
	if err := json.Unmarshal(output, &known); err != nil {
		t.Fatal(err)
	}
	used, count := markersIn(t, "testdata/every"), 0
	for _, category := range known {
		for _, marker := range category.Markers {
			count++
			if !used[marker.Target+" "+marker.Name] && uncompared[marker.Target+" "+marker.Name] == "" {
				t.Errorf("no %s has +%s", marker.Target, marker.Name)
			}
		}
	}
	if count < 140 {
		t.Errorf("controller-gen knows only %d markers", count)
	}
}

// uncompared lists markers with which nothing can be generated, and the reasons.
var uncompared = map[string]string{
	"field k8s:enum": "controller-gen refuses it: it belongs to a type",
}

// TestMakefilesOfLongAgo uses the options that kubebuilder wrote to Makefiles when definitions were v1beta1.
func TestMakefilesOfLongAgo(t *testing.T) {
	t.Parallel()
	all := contents(t, "testdata/walkthroughs")
	all["PROJECT"] = "version: \"2\"\n"
	all["main.go"] = strings.Replace(all["main.go"], "//go:generate", "//", 1)
	all["Makefile"] = "CRD_OPTIONS ?= \"crd:preserveUnknownFields=false,crdVersions={v1beta1},trivialVersions=true,maxDescLen=0\"\n" +
		"manifests:\n\tcontroller-gen $(CRD_OPTIONS) paths=\"./api/cache/...\" output:crd:artifacts:config=config/crd/bases\n"
	result := plan(t, project(t, all))
	got, _ := result.Changes.Content("config/crd/bases/cache.example.com_memcacheds.yaml")
	if !strings.Contains(string(got), "apiextensions.k8s.io/v1\n") || strings.Contains(string(got), "description") {
		t.Errorf("the definition is\n%s", got)
	}
	notes := strings.Join(result.Notes, "\n")
	for _, option := range []string{"crdVersions", "preserveUnknownFields", "trivialVersions"} {
		if !strings.Contains(notes, option+" in the Makefile has no effect any more") {
			t.Errorf("nothing tells of %s:\n%s", option, notes)
		}
	}
}
