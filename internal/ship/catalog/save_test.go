package catalog_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/ship/catalog"
	"github.com/operon-framework/operon/internal/testing/testaid"
)

// Deprecations and objects of other schemas survive when a package is written again, also in another format.
func TestSaveKeeps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testaid.Write(t, filepath.Join(dir, "till/catalog.yaml"), strings.Replace(till, "- {reference: {schema: olm.bundle", "- {reference: {schema: olm.bundle, name: till.v0.1.0}, message: gone}\n- {reference: {schema: olm.bundle", 1)+
		"---\n{schema: example.notes, package: till, text: hello}\n")
	testaid.Write(t, filepath.Join(dir, "other/catalog.yaml"), "{schema: olm.package, name: other}\n")
	newer := read(t, map[string]string{"a.yaml": till[:strings.Index(till, "---\nschema: olm.deprecations")] +
		"---\n{schema: example.notes, package: till, text: bye}\n---\n{schema: example.free, text: free}\n"})
	for range 2 {
		if err := newer.Save(t.Context(), dir, catalog.JSON); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "till/catalog.yaml")); err == nil {
		t.Error("the file in the other format is still there")
	}
	saved, err := catalog.Read(dir)
	if err != nil || len(saved.Packages) != 2 || len(saved.Others) != 3 {
		t.Fatalf("%v, the other objects are %+v", err, saved.Others)
	}
	if p := saved.Package("till"); len(p.Deprecations) != 1 || p.Deprecations[0].Message != "it loses coins" || len(p.Problems) > 0 {
		t.Errorf("the package is %+v", p)
	}
	testaid.Write(t, filepath.Join(dir, "till/catalog.yaml"), "schema: olm.deprecations\npackage: till\nentries: {{\n")
	if err := newer.Save(t.Context(), dir, catalog.YAML); err == nil || !strings.Contains(err.Error(), "till/catalog.yaml:1:1: package till: ") {
		t.Errorf("the error is %v", err)
	}
	testaid.Write(t, filepath.Join(dir, "till/catalog.yaml"), "")
	testaid.Write(t, filepath.Join(dir, "till/catalog.json"), "{")
	if err := newer.Save(t.Context(), dir, catalog.YAML); err == nil || !strings.Contains(err.Error(), "till/catalog.json:1:1: ") {
		t.Errorf("the error is %v", err)
	}
}

// Objects of a file that is replaced stay, or are an error, and a package that another file has is not written a second time.
func TestSaveLosesNothing(t *testing.T) {
	t.Parallel()
	newer := read(t, map[string]string{"a.yaml": till + "---\n{schema: example.free, text: new}\n"})
	for name, test := range map[string]struct{ file, content, want string }{
		"objects of none":    {"till/catalog.yaml", till + "---\n{schema: example.free, text: free}\n", ""},
		"objects of another": {"till/catalog.yaml", "{schema: example.free, package: other, text: free}\n", ""},
		"deprecations":       {"till/old.yaml", "{schema: olm.deprecations, package: till, entries: [{reference: {schema: olm.package}, message: free}]}\n", ""},
		"another package":    {"till/catalog.json", `{"schema": "olm.channel", "package": "other", "name": "free"}`, "till/catalog.* is replaced, and has the package other, too"},
		"package in others":  {"others.yaml", "{schema: olm.package, name: other}\n", "others.* is replaced, and has the package other, too"},
		"one file":           {"index.yaml", "---\n{schema: olm.package, name: other}\n---\n" + `{"schema": "olm.package", "name": "till"}`, "index.yaml:4:1: the package till would also be in "},
		"split files":        {"till/channels/stable.yaml", "{schema: olm.channel, package: till, name: stable}\n", "till/channels/stable.yaml:1:1: the package till would also be in "},
		"another extension":  {"till/catalog.yml", "{schema: olm.bundle, package: till, name: till.v1.0.0}\n", "till/catalog.yml:1:1: the package till would also be in "},
	} {
		dir := t.TempDir()
		testaid.Write(t, filepath.Join(dir, test.file), test.content)
		err := newer.Save(t.Context(), dir, catalog.YAML)
		got := testaid.Read(t, filepath.Join(dir, test.file))
		if test.want == "" && (err != nil || !strings.Contains(got, "free")) || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || got != test.content) {
			t.Errorf("%s: the error is %v, the file is\n%s", name, err, got)
		}
	}
}

// Mistakes in bundles name their places.
func TestRenderRejects(t *testing.T) {
	t.Parallel()
	const bundles = "../bundle/testdata"
	lamp := filepath.Join(t.TempDir(), "lamp")
	testaid.Copy(t, lamp, bundles+"/lamp")
	annotations := filepath.Join(lamp, "metadata/annotations.yaml")
	testaid.Write(t, annotations, strings.Replace(testaid.Read(t, annotations), "lamp-operator", "../Lamp", 1))
	for want, test := range map[string]struct {
		dirs  []string
		image string
	}{
		`the name of the package "../Lamp"`:           {[]string{lamp}, ""},
		"has the image r.example.com/bell:1, as bell": {[]string{bundles + "/bell"}, "r.example.com/{package}:1"},
		"the bundle lamp-operator.v1.1.0 is also in ": {[]string{bundles + "/lamp", bundles + "/lamp"}, ""},
	} {
		if _, err := catalog.Render(test.dirs, test.image); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
	c, err := catalog.Render([]string{bundles + "/lamp"}, "R.example.com/T T")
	if err != nil {
		t.Fatal(err)
	}
	c.Check()
	if all := c.AllProblems(); len(all) == 0 || !strings.HasPrefix(all[0].Error(), bundles+"/lamp/manifests/lamp.clusterserviceversion.yaml:") {
		t.Errorf("the problems are %v", all)
	}
}
