package scaffold_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/scaffold"
)

// bare creates a project with one kind, without the files that are generated from it. This is enough to test all checks that
// come before.
func bare(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "memcached-operator")
	carryOut(t, scaffold.Init{Dir: dir})
	put(t, dir, "api/v1alpha1/memcached_types.go", `// Package v1alpha1 holds an API.
//
// +groupName=cache.example.com
package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=mc
type Memcached struct {
	metav1.TypeMeta   `+"`json:\",inline\"`"+`
	metav1.ObjectMeta `+"`json:\"metadata\"`"+`
}

type ThingSpec struct{}
`)
	put(t, dir, "memcached.go", "package main\n\n// Memcached is managed.\ntype Memcached struct{}\n\nfunc sampleLamp() {}\n")
	return dir
}

func TestKindsThatCannotBe(t *testing.T) {
	t.Parallel()
	dir := bare(t)
	before := look(t, dir)
	for want, wanted := range map[string]scaffold.API{
		`the kind is missing: give one with --kind, such as Memcached`: {Group: "cache", Version: "v1"},
		`the group is missing: give one with --group`:                  {Version: "v1", Kind: "A"},
		`the version is missing: give one with --version`:              {Group: "cache", Kind: "A"},

		`kind "memcached" is not in CamelCase: letters and digits only, the first one uppercase, such as Memcached`: {Group: "cache", Version: "v1", Kind: "memcached"},
		`kind "my-cache" is not in CamelCase: letters and digits only, the first one uppercase, such as MyCache`:    {Group: "cache", Version: "v1", Kind: "my-cache"},
		`kind "func" is not in CamelCase`: {Group: "cache", Version: "v1", Kind: "func"},
		`kind "9Lives" is not in CamelCase: letters and digits only, the first one uppercase`: {Group: "cache", Version: "v1", Kind: "9Lives"},
		`kind "Größe" is not in CamelCase`:                                                    {Group: "cache", Version: "v1", Kind: "Größe"},
		`kind MemcachedList ends in List`:                                                     {Group: "cache", Version: "v1", Kind: "MemcachedList"},
		`kind WatchEvent is reserved`:                                                         {Group: "cache", Version: "v1", Kind: "WatchEvent"},
		`kind AddToScheme is reserved`:                                                        {Group: "cache", Version: "v1", Kind: "AddToScheme"},
		`has 56 letters: at most 55 are allowed`:                                              {Group: "cache", Version: "v1", Kind: "A" + strings.Repeat("b", 55)},
		`group "Cache.example.com" has uppercase letters, which Kubernetes does not allow: write cache.example.com`: {Group: "Cache.example.com", Version: "v1", Kind: "A"},
		`group "ca_che.example.com" is not a domain name`:                                                           {Group: "ca_che.example.com", Version: "v1", Kind: "A"},
		`group apps.k8s.io is in a domain of the Kubernetes project`:                                                {Group: "apps.k8s.io", Version: "v1", Kind: "A"},
		`"1" is not an API version: want one like v1, v1beta1 or v2alpha3`:                                          {Group: "cache", Version: "1", Kind: "A"},
		`"v1.2" is not an API version`:                                                                              {Group: "cache", Version: "v1.2", Kind: "A"},
		`"V1" is not an API version`:                                                                                {Group: "cache", Version: "V1", Kind: "A"},
		`"v0" is not an API version`:                                                                                {Group: "cache", Version: "v0", Kind: "A"},
		`plural "Lamps" is not a valid name of a resource`:                                                          {Group: "cache", Version: "v1", Kind: "Lamp", Plural: "Lamps"},
		`short name "L" is not a valid name of a resource`:                                                          {Group: "cache", Version: "v1", Kind: "Lamp", ShortName: "L"},
		`memcacheds.cache.example.com is already a name of kind Memcached (api/v1alpha1/memcached_types.go:10): choose another one with --plural`: {Group: "cache", Version: "v1alpha1", Kind: "Lamp", Plural: "memcacheds"},
		`mc.cache.example.com is already a name of kind Memcached (api/v1alpha1/memcached_types.go:10): choose another one with --short-name`:     {Group: "cache", Version: "v1alpha1", Kind: "Lamp", ShortName: "mc"},
		`kind Memcached of cache.example.com/v1alpha1 already exists (api/v1alpha1/memcached_types.go:10)`:                                        memcached(""),
		"`operon create version --kind Memcached --version v1` adds a version to it":                                                              {Group: "cache", Version: "v1", Kind: "Memcached"},
		`the name ThingSpec is taken in api/v1alpha1/memcached_types.go`:                                                                          {Group: "cache", Version: "v1alpha1", Kind: "Thing"},
		`the name sampleLamp is taken in memcached.go`:                                                                                            {Group: "cache", Version: "v1alpha1", Kind: "Lamp"},
		`the name Memcached is taken in memcached.go`:                                                                                             {Group: "other", Version: "v1alpha1", Kind: "Memcached"},
		`no source in api/v1alpha1 calls scheme.AddKnownTypes`:                                                                                    {Group: "cache", Version: "v1alpha1", Kind: "Fan"},
		`main.go already exists and is not overwritten`:                                                                                           {Group: "other", Version: "v1", Kind: "Main"},
	} {
		t.Run(want, func(t *testing.T) {
			wanted.Dir = dir
			if _, err := try(t, wanted); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") && !strings.Contains(want, "AddKnownTypes") {
				t.Errorf("the error is %v", err)
			}
			same(t, look(t, dir), before)
		})
	}
}

// CheckGroup rejects a group that is incomplete or in a reserved domain, in any project.
func TestGroupsThatCannotBe(t *testing.T) {
	t.Parallel()
	for group, want := range map[string]string{
		"cache":             `group "cache" is not complete, because the project has no domain: write cache.example.com, with your domain`,
		"k8s.io":            "group k8s.io is in a domain of the Kubernetes project",
		"kubernetes.io":     "group kubernetes.io is in a domain of the Kubernetes project",
		"a.kubernetes.io":   "group a.kubernetes.io is in a domain of the Kubernetes project",
		"mykubernetes.io":   "",
		"cache.example.com": "",
	} {
		err := scaffold.CheckGroup(group)
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", group, err)
		}
	}
	if err := scaffold.CheckDomain("k8s.io"); err == nil || !strings.HasPrefix(err.Error(), "domain k8s.io is in a domain of the Kubernetes project") {
		t.Errorf("the domain k8s.io: %v", err)
	}
}

func TestProjectsThatCannotBe(t *testing.T) {
	t.Parallel()
	for want, wanted := range map[string]scaffold.Init{
		`domain "Example.com" has uppercase letters, which Kubernetes does not allow: write example.com`: {Dir: "a", Domain: "Example.com"},
		`domain "a b" is not a domain name`: {Dir: "a", Domain: "a b"},
		`module path "a b": `:               {Dir: "a", Module: "a b"},
		`module path "time/machine" begins like a package of the standard library: put a domain first, as in example.com/time/machine`: {Dir: "a", Module: "time/machine"},
		`the directory name "---" has no letter or digit for a name of the operator`:                                                   {Dir: "---"},
		`--operon nowhere: want a version, such as v0.1.0, or the directory of a checkout`:                                             {Dir: "a", Operon: "nowhere"},
		`--operon v2.1.0: module github.com/operon-framework/operon has only the versions v0 and v1`:                                   {Dir: "a", Operon: "v2.1.0"},
		`taken is a file: name another directory`:                                                                                      {Dir: "taken"},
		`full/main.go already exists and is not overwritten: move it, or choose another name`:                                          {Dir: "full"},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, dir, "taken", "a file")
			put(t, dir, "full/main.go", "package main\n")
			before := look(t, dir)
			wanted.Dir = filepath.Join(dir, wanted.Dir)
			if _, err := try(t, wanted); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v", err)
			}
			same(t, look(t, dir), before)
		})
	}
}

// spoiled maps error messages to changes after which nothing can be created in a project.
var spoiled = map[string]func(t *testing.T, dir string){
	"is not an operator project: it has no go.mod: run this in the directory of a project": func(t *testing.T, dir string) { remove(t, dir, "go.mod") },
	"is not an Operon project: no source file calls operon.Main":                           func(t *testing.T, dir string) { remove(t, dir, "main.go") },
	"is a kubebuilder or Operator SDK project":                                             func(t *testing.T, dir string) { put(t, dir, "PROJECT", "version: \"3\"\n") },
	"the project does not compile; nothing was written: main.go:3:1": func(t *testing.T, dir string) {
		put(t, dir, "main.go", "package main\n\nfun main() {}\n")
	},
	"the name Lamp is taken in lamp_test.go": func(t *testing.T, dir string) { put(t, dir, "lamp_test.go", "package main\n\ntype Lamp int\n") },
	"lamp.go already exists and is not overwritten": func(t *testing.T, dir string) {
		put(t, dir, "lamp.go", "package main\n")
	},
	"main.go does not call operon.Main with a list of options, so the kind cannot be added to it; nothing was written: add\noperon.API(v1alpha1.AddToScheme)\noperon.Manage(Lamp{})": func(t *testing.T, dir string) {
		put(t, dir, "main.go", "package main\n\nimport \"github.com/operon-framework/operon\"\n\nfunc main() { operon.Main(\"x\", parts()...) }\n\nfunc parts() []operon.Option { return nil }\n")
	},
}

// Paths that are not directories, and a project that already exists, are rejected.
func TestFoldersThatCannotBe(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "lamp-operator")
	carryOut(t, scaffold.Init{Dir: dir})
	before := look(t, dir)
	for want, wanted := range map[string]planner{
		"directory " + dir + "/none does not exist: name a project directory with --dir": scaffold.API{Dir: dir + "/none"},
		"main.go is a file: name the directory of a project with --dir":                  scaffold.API{Dir: dir + "/main.go"},
		dir + " is already an Operon project: add to it with `operon create`":            scaffold.Init{Dir: dir},
	} {
		if _, err := try(t, wanted); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	same(t, look(t, dir), before)
}

func remove(t *testing.T, dir, path string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, path)); err != nil {
		t.Fatal(err)
	}
}

func TestNothingIsCreatedByHalves(t *testing.T) {
	t.Parallel()
	for want, spoil := range spoiled {
		t.Run(want[:24], func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "lamp-operator")
			carryOut(t, scaffold.Init{Dir: dir})
			spoil(t, dir)
			before := look(t, dir)
			if _, err := try(t, scaffold.API{Dir: dir, Group: "home.example.com", Version: "v1alpha1", Kind: "Lamp"}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v", err)
			}
			same(t, look(t, dir), before)
		})
	}
}

// The go command ignores go.work when it completes go.mod: the error says what to do about modules of the workspace.
func TestAModuleOfTheWorkspaceIsMissing(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	dir := filepath.Join(t.TempDir(), "usage-operator")
	carryOut(t, scaffold.Init{Dir: dir})
	put(t, dir, "go.work", "go 1.26.0\n\nuse (\n\t.\n\t./sibling\n)\n")
	put(t, dir, "sibling/go.mod", "module example.com/sibling\n\ngo 1.26.0\n")
	put(t, dir, "sibling/sibling.go", "package sibling\n")
	put(t, dir, "uses.go", "package main\n\nimport _ \"example.com/sibling\"\n")
	_, err := scaffold.APIServer{Dir: dir, Group: "usage", Version: "v1alpha1", Kind: "Usage"}.Plan(t.Context(), func(string) {})
	if err == nil || !strings.Contains(err.Error(), "if a module of the workspace is missing, add a replace line for it to go.mod") {
		t.Errorf("the error is %v", err)
	}
}

// Code that does not compile is reported with the project's own file names.
func TestCodeThatDoesNotCompile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "lamp-operator")
	carryOut(t, scaffold.Init{Dir: dir})
	put(t, dir, "api/v1alpha1/other.go", "// Package v1alpha1 is broken.\n//\n// +kubebuilder:object:generate=true\npackage v1alpha1\n\n// A is broken.\ntype A struct{ B Nowhere }\n")
	before := look(t, dir)
	_, err := try(t, scaffold.API{Dir: dir, Group: "home.example.com", Version: "v1alpha1", Kind: "Lamp"})
	if err == nil || !strings.Contains(err.Error(), "api/v1alpha1/other.go:7:") || strings.Contains(err.Error(), "operon-project-") {
		t.Errorf("the error is %v", err)
	}
	same(t, look(t, dir), before)
}

// A composer that does not compile is reported before anything is derived from it, because the derived permissions would be
// wrong.
func TestComposersThatDoNotCompile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "lamp-operator")
	carryOut(t, scaffold.Init{Dir: dir})
	lamp := scaffold.API{Dir: dir, Group: "home.example.com", Version: "v1alpha1", Kind: "Lamp"}
	carryOut(t, lamp)
	goes(t, dir, "list", "-export", "./...") // dependencies that were never compiled are not compiled now
	put(t, dir, "lamp.go", strings.Replace(read(t, dir, "lamp.go"), "out.Child(", "out.Chilled(", 1))
	before := look(t, dir)
	lamp.Kind = "Fan"
	_, err := try(t, lamp)
	if want := "the project does not compile; nothing was written: lamp.go:24:6: out.Chilled undefined"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("the error is %v", err)
	}
	same(t, look(t, dir), before)
}

// An interrupted command leaves the existing files unchanged, and an interrupted init leaves no directory.
func TestInterruptions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	plan, err := scaffold.Init{Dir: filepath.Join(dir, "a", "b")}.Plan(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	before := look(t, dir)
	cancel()
	if written, err := plan.Apply(ctx); err == nil {
		t.Errorf("it wrote %q", written)
	}
	same(t, look(t, dir), before)
}

// A file that is edited while the command runs keeps the edit.
func TestFilesThatChangeInTheMeantime(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "lamp-operator")
	carryOut(t, scaffold.Init{Dir: dir})
	plan, err := scaffold.API{Dir: dir, Group: "home.example.com", Version: "v1alpha1", Kind: "Lamp"}.Plan(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "main.go", read(t, dir, "main.go")+"\n// An edit.\n")
	before := look(t, dir)
	if written, err := plan.Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "main.go was changed in the meantime") {
		t.Errorf("it wrote %q; the error is %v", written, err)
	}
	same(t, look(t, dir), before)
}

// A directory without write permission is reported and left unchanged. In /proc, no user can create files.
func TestAReadOnlyTree(t *testing.T) {
	t.Parallel()
	_, err := try(t, scaffold.Init{Dir: "/proc/self/lamp-operator"})
	if err == nil || !strings.Contains(err.Error(), "nothing was written: mkdir /proc/self/lamp-operator") {
		t.Errorf("the error is %v", err)
	}
}

// A preview shows all files and creates none.
func TestAPreviewWritesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "lamp-operator")
	plan, err := scaffold.Init{Dir: dir, CI: true}.Plan(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := plan.Preview()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"==> main.go (new)\n// Command lamp-operator", "==> go.mod (new)\nmodule example.com/lamp-operator\n", "==> .github/workflows/test.yaml (new)\n", "==> go.sum (new)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the directory was made")
	}
}
