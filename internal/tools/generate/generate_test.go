package generate_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/generate"
)

// types is an API with one kind.
const types = `// Package v1 is an API.
// +kubebuilder:object:generate=true
// +groupName=web.example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Page is a page.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Page struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `

	Spec PageSpec ` + "`json:\"spec,omitempty\"`" + `
}

// PageSpec is what is wanted.
type PageSpec struct {
	// Title stands above.
	// +kubebuilder:validation:MinLength=1
	Title string ` + "`json:\"title\"`" + `
}
`

const mainFile = `// Command web is an operator.
package main

//go:generate operon generate --role-name web-operator

// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get

func main() {}
`

type files map[string]string

// project writes a project's directory: files, and a go.mod that finds the dependencies of the examples.
func project(t *testing.T, all files) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, files{"go.mod": goMod(t), "go.sum": read(t, "../../../examples/memcached/go.sum")})
	write(t, dir, all)
	return dir
}

// goMod returns the examples' go.mod for a module with another name and place.
func goMod(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(
		"module github.com/operon-framework/operon/examples/memcached", "module example.com/web",
		"=> ../..", "=> "+root,
	).Replace(read(t, "../../../examples/memcached/go.mod"))
}

func write(t *testing.T, dir string, all files) {
	t.Helper()
	for path, content := range all {
		testaid.Write(t, filepath.Join(dir, path), content)
	}
}

func read(t *testing.T, file string) string { t.Helper(); return testaid.Read(t, file) }

// plan plans a run of the generators. The test fails if Plan fails.
func plan(t *testing.T, dir string, flags ...string) *generate.Result {
	t.Helper()
	result, err := generate.Plan(t.Context(), dir, generate.Options{Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestWhatAProjectGets(t *testing.T) {
	t.Parallel()
	dir := project(t, files{"main.go": mainFile, "api/v1/types.go": types})
	changed, err := plan(t, dir).Changes.Apply(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := "api/v1/zz_generated.deepcopy.go config/crd/web.example.com_pages.yaml config/rbac/role.yaml"
	if got := strings.Join(changed, " "); got != want {
		t.Errorf("changed %s, want %s", got, want)
	}
	for file, holds := range map[string]string{
		"api/v1/zz_generated.deepcopy.go":       "func (in *Page) DeepCopyInto(",
		"config/crd/web.example.com_pages.yaml": "controller-gen.kubebuilder.io/version: v0.23.0",
		"config/rbac/role.yaml":                 "name: web-operator",
	} {
		if got := read(t, filepath.Join(dir, file)); !strings.Contains(got, holds) {
			t.Errorf("%s does not hold %q:\n%s", file, holds, got)
		}
	}
}

// Packages are first loaded without cgo: types in sources that need cgo must not be missing.
func TestTypesInSourcesForCgoAreFound(t *testing.T) {
	t.Setenv("CGO_ENABLED", "1")
	dir := project(t, files{
		"main.go": mainFile, "api/v1/types.go": strings.Replace(types, "Title string", "Title Title", 1),
		"api/v1/title.go": "//go:build cgo\n\npackage v1\n\n// Title is a text.\n// +kubebuilder:validation:MaxLength=77\ntype Title string\n",
	})
	set := plan(t, dir).Changes
	if content, _ := set.Content(definition); !strings.Contains(string(content), "maxLength: 77") {
		t.Errorf("the definition is\n%s", content)
	}
}
