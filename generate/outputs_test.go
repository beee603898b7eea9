package generate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/generate"
)

// What is made of manifests says all that the types say, also where the manifests do not, and
// follows them when they go.
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

// The manifest that installs an operator has the definitions and Roles of the same run, which were
// never written before.
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
	_, err := generate.Plan(t.Context(), dir, generate.Options{Flags: []string{"--manifests", "--namespace=Web_1"}})
	if err == nil || !strings.Contains(err.Error(), `the namespace "Web_1"`) {
		t.Errorf("%v", err)
	}
}
