package generate_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/generate"
)

// Outputs contain everything that the types define, even if the manifests do not. Outputs of deleted types are deleted.
func TestOutputs(t *testing.T) {
	t.Parallel()
	dir := project(t, files{
		"main.go":                       strings.Replace(mainFile, "--role-name web-operator", "--max-description 0 --docs --schemas=editor", 1),
		"api/v1/types.go":               types,
		"config/samples/page.yaml":      "apiVersion: web.example.com/v1\nkind: Page\nmetadata:\n  name: first\nspec:\n  title: Hello\n",
		"docs/reference/old_v1.md":      "<!-- Written by operon generate --docs long ago -->",
		"docs/reference/by-hand.md":     "# Ours",
		"editor/old.example.com/a.json": `{"$comment": "Written by operon generate --schemas"}`,
	})
	if _, err := plan(t, dir).Changes.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	for file, holds := range map[string]string{
		"docs/reference/web.example.com_v1.md": "Title stands above.",
		"editor/web.example.com/page_v1.json":  "Title stands above.",
		"editor/all.json":                      `"$ref": "web.example.com/page_v1.json"`,
		"docs/reference/by-hand.md":            "# Ours",
	} {
		if got := read(t, filepath.Join(dir, file)); !strings.Contains(got, holds) {
			t.Errorf("%s has not %q: %s", file, holds, got)
		}
	}
	if page := read(t, filepath.Join(dir, "docs/reference/web.example.com_v1.md")); !strings.Contains(page, "title: Hello") {
		t.Errorf("the page has no example: %s", page)
	}
	if definition := read(t, filepath.Join(dir, "config/crd/web.example.com_pages.yaml")); strings.Contains(definition, "description") {
		t.Errorf("the definition has descriptions: %s", definition)
	}
	for _, gone := range []string{"docs/reference/old_v1.md", "editor/old.example.com/a.json"} {
		if _, err := os.Stat(filepath.Join(dir, gone)); err == nil {
			t.Errorf("%s is still there", gone)
		}
	}
	if diff, err := plan(t, dir).Changes.Diff(); err != nil || diff != "" {
		t.Errorf("a second run changes %s, %v", diff, err)
	}
}

func TestOutputsStayInTheProject(t *testing.T) {
	t.Parallel()
	dir := project(t, files{"main.go": mainFile, "api/v1/types.go": types})
	_, err := generate.Plan(t.Context(), dir, generate.Options{Flags: []string{"--docs=../elsewhere"}})
	if err == nil || !strings.Contains(err.Error(), "../elsewhere is not in the project: name a place below it") {
		t.Errorf("%v", err)
	}
}

// The manifest that installs an operator contains the definitions and Roles of the same run, even if they were never written
// before.
func TestManifests(t *testing.T) {
	t.Parallel()
	dir := project(t, files{"main.go": mainFile, "api/v1/types.go": types})
	set := plan(t, dir, "--manifests", "--image=registry.example.com/web:1.0", "--namespace=web").Changes
	content, there := set.Content("dist/install.yaml")
	if !there {
		t.Fatalf("there is no manifest among %q", set.Paths())
	}
	for _, holds := range []string{"name: pages.web.example.com", "- deployments", "image: registry.example.com/web:1.0", "name: web\n"} {
		if !strings.Contains(string(content), holds) {
			t.Errorf("the manifest has not %q: %s", holds, content)
		}
	}
	write(t, dir, files{"dist/install.yaml": "# ours\n", "deploy/ours.yaml": "# ours\n", "deploy/old.yaml": "# Written by operon generate; edits are lost.\n"})
	for flags, want := range map[string]string{
		"--namespace=Web_1":            `the namespace "Web_1"`,
		"--manifests=deploy/ours.yaml": "deploy/ours.yaml was not generated and is not overwritten: move it, or choose another file with --manifests=FILE",
	} {
		_, err := generate.Plan(t.Context(), dir, generate.Options{Flags: []string{"--manifests", flags}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", flags, err)
		}
	}
	plan(t, dir, "--manifests") // kubebuilder's Makefile writes this file, too
	plan(t, dir, "--manifests=deploy/old.yaml")
}

// All forms of manifests that install an operator contain the policies of the same run.
func TestPoliciesAreInstalled(t *testing.T) {
	t.Parallel()
	ruled := strings.Replace(types, "// +kubebuilder:subresource:status", "// +operon:policy:name=short,expression=\"size(object.spec.title) < 9\",message=\"too long\"", 1)
	dir := project(t, files{"main.go": mainFile, "api/v1/types.go": ruled})
	set := plan(t, dir, "--manifests", "--helm", "--kustomize").Changes
	for _, file := range []string{"dist/install.yaml", "config/default/operator.yaml", "chart/templates/validatingadmissionpolicy-short.pages.web.example.com.yaml"} {
		content, _ := set.Content(file)
		if text := string(content); !strings.Contains(text, "kind: ValidatingAdmissionPolicy\n") || !strings.Contains(text, "name: short.pages.web.example.com") {
			t.Errorf("%s has no policy: %s", file, content)
		}
	}
}

// A policy applies to all versions of its kind. The same policy on two versions is an error at the second one.
func TestPoliciesOfSeveralVersions(t *testing.T) {
	t.Parallel()
	ruled := strings.Replace(types, "// +kubebuilder:subresource:status", "// +operon:policy:name=short,expression=\"size(object.spec.title) < 9\"", 1)
	dir := project(t, files{
		"main.go": mainFile, "api/v1/types.go": ruled,
		"api/v2/types.go": strings.Replace(strings.Replace(ruled, "package v1", "package v2", 1), "// +kubebuilder:object:root=true", "// +kubebuilder:object:root=true\n// +kubebuilder:storageversion", 1),
	})
	_, err := generate.Plan(t.Context(), dir, generate.Options{})
	if err == nil || !strings.Contains(err.Error(), "api/v2/types.go:11:1: ") || !strings.Contains(err.Error(), "has a policy short.pages.web.example.com: choose another name") {
		t.Errorf("%v", err)
	}
}

// Types with floats are allowed by one flag for all that is generated from them.
func TestFloatsAreAllowed(t *testing.T) {
	t.Parallel()
	source := strings.NewReplacer("Title string `json:\"title\"`", "Title float64 `json:\"title\"`", "	// +kubebuilder:validation:MinLength=1\n", "",
		"// +kubebuilder:subresource:status", "// +operon:policy:name=small,expression=\"object.spec.title < 9.5\"").Replace(types)
	set := plan(t, project(t, files{"main.go": mainFile, "api/v1/types.go": source}), "--allow-floats").Changes
	for _, file := range []string{definition, "config/policy/policies.yaml"} {
		if _, there := set.Content(file); !there {
			t.Errorf("%s is not generated", file)
		}
	}
}

// The definitions of the same run are also generated as Go code, even if the Makefile sets the directory of the definitions.
func TestGoCRDs(t *testing.T) {
	t.Parallel()
	for name, all := range map[string]files{"operon": {"main.go": mainFile, "api/v1/types.go": types}, "kubebuilder": shortLayout} {
		dir := project(t, all)
		apply(t, plan(t, dir, "--go-crds", "--manifests"))
		source := read(t, filepath.Join(dir, "crds/zz_generated.crds.go"))
		if strings.Count(source, "func Page() *apiextensionsv1.CustomResourceDefinition {") != 1 || !strings.Contains(source, `Group: "web.example.com"`) {
			t.Errorf("%s: %s", name, source)
		}
		if diff, err := plan(t, dir, "--go-crds", "--manifests").Changes.Diff(); err != nil || diff != "" {
			t.Errorf("%s: a second run changes %s, %v", name, diff, err)
		}
	}
	dir := project(t, files{"main.go": mainFile})
	if _, err := generate.Plan(t.Context(), dir, generate.Options{Flags: []string{"--go-crds"}}); err == nil || !strings.Contains(err.Error(), "--go-crds: the project has no CRDs") {
		t.Errorf("without kinds: %v", err)
	}
}

// A chart is merged with the existing one, and conflicts are reported.
func TestHelm(t *testing.T) {
	t.Parallel()
	dir := project(t, files{"main.go": mainFile, "api/v1/types.go": types})
	if _, err := plan(t, dir, "--helm").Changes.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	values := strings.Replace(read(t, filepath.Join(dir, "chart/values.yaml")), "tag: \"latest\"", "tag: ours", 1)
	write(t, dir, files{"chart/values.yaml": values})
	result := plan(t, dir, "--helm", "--image=registry.example.com/web:2.0")
	content, _ := result.Changes.Content("chart/values.yaml")
	if got := string(content); !strings.Contains(got, "tag: ours") || !strings.Contains(got, "repository: registry.example.com/web") {
		t.Errorf("the values are %s", got)
	}
	want := "chart/values.yaml: image.tag was edited to ours and is kept; the generated value is \"2.0\""
	if len(result.Notes) == 0 || result.Notes[len(result.Notes)-1] != want {
		t.Errorf("%q is told, want %s", result.Notes, want)
	}
	write(t, dir, files{"chart/values.yaml": "image: ["})
	_, err := generate.Plan(t.Context(), dir, generate.Options{Flags: []string{"--helm"}})
	if err == nil || !strings.Contains(err.Error(), "chart/values.yaml: line 1: ") {
		t.Errorf("%v", err)
	}
}

// shortLayout is a minimal project with kubebuilder's layout.
var shortLayout = files{
	"PROJECT":                           "layout: [go.kubebuilder.io/v4]\nprojectName: web\nversion: '3'\n",
	"cmd/main.go":                       "package main\n\nfunc main() {}\n",
	"api/v1/types.go":                   types,
	"config/default/kustomization.yaml": "namespace: web-system\nresources: [../crd, ../manager]\n",
	"config/crd/kustomization.yaml":     "resources: [bases/web.example.com_pages.yaml]\n",
	"config/manager/kustomization.yaml": "resources: [manager.yaml]\n",
	"config/manager/manager.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: controller-manager, namespace: system}\n" +
		"spec: {template: {spec: {containers: [{name: manager, image: 'controller:latest'}]}}}\n",
}

// The manifest of a project with kubebuilder's layout is built from its config/default, with the definitions of the same run.
func TestManifestsOfKubebuilders(t *testing.T) {
	t.Parallel()
	dir := project(t, shortLayout)
	content, there := plan(t, dir, "--manifests", "--image=registry.example.com/web:1.0").Changes.Content("dist/install.yaml")
	if !there || !strings.Contains(string(content), "name: pages.web.example.com") || !strings.Contains(string(content), "namespace: web-system") ||
		!strings.Contains(string(content), "image: registry.example.com/web:1.0") {
		t.Errorf("the manifest is %s", content)
	}
	for flag, want := range map[string]string{
		"--kustomize":     "this project has a base of its own, config/default",
		"--helm":          "charts are generated for projects with the Operon layout",
		"--namespace=web": "config/default says where the operator runs",
	} {
		_, err := generate.Plan(t.Context(), dir, generate.Options{Flags: []string{"--manifests", flag}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

// A base is generated next to the definitions, and never overwrites files that a user wrote.
func TestKustomize(t *testing.T) {
	t.Parallel()
	dir := project(t, files{"main.go": mainFile, "api/v1/types.go": types})
	set := plan(t, dir, "--kustomize").Changes
	for file, holds := range map[string]string{
		"config/default/kustomization.yaml": "- ../crd\n- operator.yaml\n",
		"config/crd/kustomization.yaml":     "- web.example.com_pages.yaml\n",
		"config/default/operator.yaml":      "kind: Deployment",
	} {
		if content, _ := set.Content(file); !strings.Contains(string(content), holds) {
			t.Errorf("%s has not %q: %s", file, holds, content)
		}
	}
	write(t, dir, files{"config/crd/kustomization.yaml": "resources: []\n"})
	_, err := generate.Plan(t.Context(), dir, generate.Options{Flags: []string{"--kustomize"}})
	if err == nil || !strings.Contains(err.Error(), "config/crd/kustomization.yaml was not generated and is not overwritten") {
		t.Errorf("%v", err)
	}
}

// The image, the namespace and the shards in operon.yaml are defaults, which flags override.
func TestDefaultsFromTheProjectFile(t *testing.T) {
	t.Parallel()
	dir := project(t, files{"main.go": mainFile, "api/v1/types.go": types})
	diff := func(flags ...string) string {
		diff, err := plan(t, dir, append(flags, "--manifests=install.yaml")...).Diff()
		if err != nil {
			t.Fatal(err)
		}
		return diff
	}
	diff() // the next run must not reuse this one
	write(t, dir, files{"operon.yaml": "image: web:1.0\nregistry: r.example.com\nnamespace: pages\nreplicas: 3\nshards: 12\n"})
	if found := diff(); !strings.Contains(found, "image: r.example.com/web:1.0") || !strings.Contains(found, "namespace: pages") || !strings.Contains(found, "leases") {
		t.Error(found)
	}
	if found := diff("--image=other"); !strings.Contains(found, "image: other") || !strings.Contains(found, "namespace: pages") {
		t.Error(found)
	}
	write(t, dir, files{"operon.yaml": "images: web:1.0\n"})
	_, err := generate.Plan(t.Context(), dir, generate.Options{})
	if want := dir + `/operon.yaml:1: unknown key "images"; did you mean "image"?`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// A run that adds permissions that lead to others notes them.
func TestPowersAreNoted(t *testing.T) {
	t.Parallel()
	marker := "// +kubebuilder:rbac:groups=\"\",resources=secrets,verbs=get\n"
	dir := project(t, files{"main.go": strings.Replace(mainFile, "package main", marker+"\npackage main", 1), "api/v1/types.go": types})
	result := plan(t, dir)
	const want = "config/rbac: the operator may read every Secret in the whole cluster; make sure that it needs to"
	if !slices.Contains(result.Notes, want) {
		t.Errorf("the notes are %q", result.Notes)
	}
	if _, err := result.Changes.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again := plan(t, dir, "--manifests"); slices.Contains(again.Notes, want) {
		t.Errorf("the notes of the next run are %q", again.Notes)
	}
}
