package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/ship/catalog"
	"github.com/operon-framework/operon/internal/testing/testaid"
)

func TestMistakesInCallsOfCatalog(t *testing.T) {
	t.Parallel()
	wants := map[string]string{
		"catalog list":                            `operon: unknown command "list" for "operon catalog"`,
		"catalog render":                          "operon: want directories with bundles",
		"catalog render x --format xml":           "operon: --format xml: want yaml or json",
		"catalog render /nowhere":                 "operon: there is no directory /nowhere; name a directory with a bundle",
		"catalog validate":                        "operon: want one directory with a catalog",
		"catalog validate /nowhere":               "operon: there is no directory /nowhere; name a directory with a catalog",
		"catalog validate catalog_test.go":        "operon: catalog_test.go is a file; name the directory of the catalog",
		"catalog diff x":                          "operon: want two directories with catalogs: the old one and the new one",
		"catalog image":                           "operon: want one directory with a catalog, got 0",
		"catalog image x":                         "operon: the image needs a name: --image NAME",
		"catalog image /nowhere --image x":        "operon: there is no directory /nowhere; name a directory with a catalog",
		"catalog image " + bundles + " --image x": "the catalog has problems: run operon catalog validate",
		"catalog graph":                           "operon: want a directory with a catalog, and the name of a package if it has several",
		"catalog graph /nowhere":                  "operon: there is no directory /nowhere; name a directory with a catalog",
	}
	for call, got := range each(t, asOperonIn(t), maps.Keys(wants)) {
		if got.code != exitFailed || !strings.Contains(got.stderr, wants[call]) {
			t.Errorf("%s: exit %d\n%s", call, got.code, got.stderr)
		}
	}
}

// Images are made of catalogs without problems. Links and other files are left out of a catalog. Links are refused in a bundle.
func TestImagesOfCatalogs(t *testing.T) {
	t.Parallel()
	dir, out := filepath.Join(t.TempDir(), "catalog"), filepath.Join(t.TempDir(), "image.tar")
	if got := operon(t, "catalog", "render", bundles, "--image", "r.example.com/{package}:{version}", "--to", dir); got.code != 0 {
		t.Fatalf("exit %d\n%s", got.code, got.stderr)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "bell", "link")); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{".git/config": "token", ".env": "token", ".indexignore": "notes\n", "notes/a.yaml": "token"} {
		testaid.Write(t, filepath.Join(dir, name), content)
	}
	if got := operon(t, "catalog", "image", dir, "--image", "catalog:1", "--tar", out); got.code != 0 {
		t.Errorf("exit %d\n%s", got.code, got.stderr)
	}
	if archive, err := os.ReadFile(out); err != nil || strings.Contains(string(archive), "passwd") {
		t.Errorf("the image contains the link, or cannot be read: %v", err)
	}
	files, err := catalogFiles(dir)
	var paths []string
	for _, one := range files {
		paths = append(paths, one.Path)
	}
	if want := []string{"configs/bell/catalog.yaml", "configs/lamp-operator/catalog.yaml"}; err != nil || !slices.Equal(paths, want) {
		t.Errorf("the image has the files %q, %v", paths, err)
	}
	file := filepath.Join(dir, "bell", "catalog.yaml")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), "- image: registry.example.com/bell:1.1.0\n") {
		t.Errorf("the catalog does not list the image of the operator:\n%s", content)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(content), "defaultChannel: ", "defaultChannel: x", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := operon(t, "catalog", "image", dir, "--image", "catalog:1", "--tar", out); got.code != exitFailed || !strings.Contains(got.stderr, "the catalog has problems") {
		t.Errorf("exit %d\n%s", got.code, got.stderr)
	}
	bundle := t.TempDir()
	if err := errors.Join(os.CopyFS(bundle, os.DirFS(bundles+"/lamp")), os.Symlink("lamp.yaml", filepath.Join(bundle, "manifests", "link"))); err != nil {
		t.Fatal(err)
	}
	if got := operon(t, "bundle", "image", bundle, "--image", "lamp:1", "--tar", out); got.code != exitFailed || !strings.Contains(got.stderr, "link") {
		t.Errorf("exit %d\n%s", got.code, got.stderr)
	}
}

func TestCatalog(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "catalog")
	if got := operon(t, "catalog", "render", bundles, "--image", "r.example.com/{package}:{version}", "--to", dir); got.code != 0 || got.stdout != "2 packages in "+dir+"\n" {
		t.Fatalf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	if got := operon(t, "catalog", "validate", dir); got.code != 0 || got.stdout != "2 packages, 3 bundles, 0 problems\n" {
		t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	picture := filepath.Join(t.TempDir(), "bell.svg")
	if got := operon(t, "catalog", "graph", dir, "bell", "--svg", picture); got.code != 0 || !strings.Contains(got.stdout, "bell.v1.1.0, the head, replaces bell.v1.0.0") {
		t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	if got := operon(t, "catalog", "graph", dir); got.code != exitFailed || !strings.Contains(got.stderr, "want the name of a package; the catalog "+dir+" has bell, lamp-operator") {
		t.Errorf("exit %d\n%s", got.code, got.stderr)
	}
	if got := operon(t, "catalog", "graph", dir, "x"); got.code != exitFailed || !strings.Contains(got.stderr, "has no package x, only bell, lamp-operator; operon catalog validate lists problems") {
		t.Errorf("exit %d\n%s", got.code, got.stderr)
	}
	if drawn, err := os.ReadFile(picture); err != nil || !strings.HasPrefix(string(drawn), "<svg ") {
		t.Errorf("the picture is %q, %v", drawn, err)
	}
	printed := operon(t, "catalog", "render", bundles+"/lamp", "--format", "json")
	newer := t.TempDir()
	if err := os.WriteFile(filepath.Join(newer, "lamp.json"), []byte(printed.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := operon(t, "catalog", "graph", newer); got.code != 0 || !strings.Contains(got.stdout, "lamp-operator") {
		t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	if got := operon(t, "catalog", "diff", dir, newer); got.code != 0 || !strings.Contains(got.stdout, "bell: the package is removed (affects installed operators)\n") {
		t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	if got := operon(t, "catalog", "diff", dir, dir); got.code != 0 || got.stdout != "no changes\n" {
		t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	broken := filepath.Join(dir, "bell", "catalog.yaml")
	if err := os.WriteFile(broken, []byte("schema: olm.package\nname: bell\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := operon(t, "catalog", "validate", dir, "-o", "json")
	var result struct{ Problems []catalog.Problem }
	if err := json.Unmarshal([]byte(got.stdout), &result); err != nil || got.code != exitFindings || len(result.Problems) != 2 || result.Problems[0].Package != "bell" {
		t.Errorf("exit %d, %v\n%s%s", got.code, err, got.stdout, got.stderr)
	}
	if err := os.WriteFile(broken, []byte("{schema: olm.package, name: bell}\n---\n{schema: olm.channel, package: bell, name: 1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"graph", dir, "bell"}, {"diff", dir, newer}, {"diff", newer, dir}} {
		if got := operon(t, append([]string{"catalog"}, args...)...); got.code != exitFailed || !strings.Contains(got.stderr, "bell/catalog.yaml:3:1: ") {
			t.Errorf("%v: exit %d\n%s%s", args, got.code, got.stdout, got.stderr)
		}
	}
	if got := operon(t, "catalog", "graph", dir, "lamp-operator"); got.code != 0 {
		t.Errorf("exit %d\n%s", got.code, got.stderr)
	}
}
