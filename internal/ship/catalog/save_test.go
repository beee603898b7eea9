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
