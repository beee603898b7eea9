package catalog_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/ship/catalog"
	"github.com/operon-framework/operon/internal/testing/testaid"
)

// till is a correct package: two channels, upgrades by replaces, skips and a range, and a deprecation.
const till = `---
schema: olm.package
name: till
defaultChannel: stable
---
schema: olm.channel
package: till
name: stable
entries:
- {name: till.v1.0.0}
- {name: till.v1.1.0, replaces: till.v1.0.0}
- {name: till.v1.2.0, replaces: till.v1.1.0, skips: [till.v1.0.0]}
- {name: till.v1.3.0, replaces: till.v1.2.0, skipRange: ">=1.0.0 <1.2.0"}
---
schema: olm.channel
package: till
name: fast
entries:
- {name: till.v1.3.0, replaces: till.v0.9.0}
---
{schema: olm.bundle, package: till, name: till.v1.0.0, image: "r.example.com/t:1", properties: [{type: olm.package, value: {packageName: till, version: 1.0.0}}]}
---
{schema: olm.bundle, package: till, name: till.v1.1.0, image: "r.example.com/t:2", properties: [{type: olm.package, value: {packageName: till, version: 1.1.0}}]}
---
{schema: olm.bundle, package: till, name: till.v1.2.0, image: "r.example.com/t:3", properties: [{type: olm.package, value: {packageName: till, version: 1.2.0}}]}
---
{schema: olm.bundle, package: till, name: till.v1.3.0, image: "r.example.com/t:4", properties: [{type: olm.package, value: {packageName: till, version: 1.3.0}}, {type: olm.gvk, value: {group: shop.example.com, version: v1, kind: Till}}]}
---
schema: olm.deprecations
package: till
entries:
- {reference: {schema: olm.bundle, name: till.v1.0.0}, message: it loses coins}
`

// read reads and checks a catalog with files.
func read(t *testing.T, files map[string]string) *catalog.Catalog {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		testaid.Write(t, filepath.Join(dir, name), content)
	}
	c, err := catalog.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	c.Check()
	return c
}

// problems returns the problems of a catalog, without the directory.
func problems(c *catalog.Catalog) []string {
	all := []string{}
	for _, one := range c.AllProblems() {
		all = append(all, fmt.Sprintf("%s:%d: %s: %s", filepath.Base(one.At.File), one.At.Line, one.Package, one.Message))
	}
	return all
}

func TestRead(t *testing.T) {
	t.Parallel()
	c := read(t, map[string]string{"catalog.yaml": till})
	if got := problems(c); len(got) > 0 {
		t.Fatalf("problems %q", got)
	}
	p := c.Package("till")
	if p == nil || len(p.Channels) != 2 || len(p.Bundles) != 4 || len(p.Deprecations) != 1 || p.Bundle("till.v1.3.0").Version() != "1.3.0" {
		t.Errorf("the package is %+v", p)
	}
	if c.Package("tills") != nil {
		t.Error("there is a package tills")
	}
}

// One file, a file for each object, and JSON are the same catalog. Ignored and foreign files are not read, and objects with other schemas
// are kept.
func TestForms(t *testing.T) {
	t.Parallel()
	whole := read(t, map[string]string{"catalog.yaml": till})
	split := map[string]string{"README.md": "{", ".indexignore": "drafts\n*.tmp.yaml\n", "drafts/a.yaml": "{", "b.tmp.yaml": "{"}
	for i, document := range strings.Split(till, "---\n") {
		split[fmt.Sprintf("till/%02d.yaml", i)] = document
	}
	var text bytes.Buffer
	if err := whole.Write(&text, catalog.JSON); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), `\u003e`) {
		t.Error("ranges of versions are not readable")
	}
	again := read(t, map[string]string{"catalog.json": text.String()})
	other := read(t, map[string]string{"catalog.yaml": till + "---\n{schema: example.notes, package: till, text: hello}\n"})
	for name, form := range map[string]*catalog.Catalog{"split": read(t, split), "JSON": again, "with an unknown object": other} {
		if got := problems(form); len(got) > 0 {
			t.Errorf("%s: problems %q", name, got)
		}
		if got, want := written(t, form.Packages[0]), written(t, whole.Packages[0]); got != want {
			t.Errorf("%s: the package is\n%s\nwant\n%s", name, got, want)
		}
	}
	if len(other.Others) != 1 || other.Others[0].Package != "till" {
		t.Fatalf("the other objects are %+v", other.Others)
	}
	text.Reset()
	if err := other.Write(&text, catalog.YAML); err != nil || !strings.Contains(text.String(), "schema: example.notes\ntext: hello\n") {
		t.Errorf("written is %v\n%s", err, text.String())
	}
}

func written(t *testing.T, p *catalog.Package) string {
	t.Helper()
	var out bytes.Buffer
	if err := p.Write(&out, catalog.YAML); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Each mistake is reported with its place and its package, and once.
func TestProblems(t *testing.T) {
	t.Parallel()
	const own = "properties: [{type: olm.package, value: {packageName: till, version: 1.3.0}}, "
	for name, test := range map[string]struct{ old, new, want string }{
		"no default channel":       {"defaultChannel: stable", "description: x", "catalog.yaml:2: till: defaultChannel is missing"},
		"unknown default channel":  {"defaultChannel: stable", "defaultChannel: slow", `catalog.yaml:2: till: defaultChannel: there is no channel "slow"`},
		"icon":                     {"defaultChannel: stable", "defaultChannel: stable\nicon: {base64data: aGVsbG8=, mediatype: image/png}", `catalog.yaml:2: till: icon: the media type is "image/png", and the data is text/plain; charset=utf-8`},
		"no entries":               {"entries:\n- {name: till.v1.3.0, replaces: till.v0.9.0}", "entries: []", "catalog.yaml:15: till: channel fast has no entries"},
		"unknown bundle":           {"- {name: till.v1.3.0, replaces: till.v0.9.0}", "- {name: till.v9.9.9}", "catalog.yaml:15: till: channel fast: there is no bundle till.v9.9.9"},
		"two heads":                {"- {name: till.v1.1.0, replaces: till.v1.0.0}", "- {name: till.v1.1.0}\n- {name: till.v1.1.1}", "catalog.yaml:6: till: channel stable has 2 heads, want 1: till.v1.1.1, till.v1.3.0; let one of them replace or skip the others"},
		"circle":                   {"- {name: till.v1.0.0}", "- {name: till.v1.0.0, replaces: till.v1.2.0}", "catalog.yaml:6: till: channel stable: the entries replace each other in a circle: till.v1.0.0 → till.v1.2.0 → till.v1.1.0 → till.v1.0.0"},
		"replaces itself":          {"- {name: till.v1.0.0}", "- {name: till.v1.0.0, replaces: till.v1.0.0}", "catalog.yaml:6: till: channel stable: the entries replace each other in a circle: till.v1.0.0 → till.v1.0.0"},
		"stranded":                 {"- {name: till.v1.3.0, replaces: till.v0.9.0}", "- {name: till.v1.3.0, replaces: till.v1.1.0, skips: [till.v1.2.0]}\n- {name: till.v1.2.0, replaces: till.v1.0.0}\n- {name: till.v1.1.0}\n- {name: till.v1.0.0}", "catalog.yaml:15: till: channel fast: till.v1.0.0: no upgrade leads from there to the head till.v1.3.0: let an entry skip it"},
		"stranded behind a skip":   {"- {name: till.v1.3.0, replaces: till.v0.9.0}", "- {name: till.v1.3.0, replaces: till.v1.2.0, skips: [till.v1.2.0]}\n- {name: till.v1.2.0, replaces: till.v1.1.0}\n- {name: till.v1.1.0}", "catalog.yaml:15: till: channel fast: till.v1.1.0: no upgrade leads from there"},
		"skips itself":             {"- {name: till.v1.3.0, replaces: till.v0.9.0}", "- {name: till.v1.3.0, skips: [till.v1.3.0]}", "catalog.yaml:15: till: channel fast has 0 heads, want 1"},
		"skips nothing":            {"- {name: till.v1.3.0, replaces: till.v0.9.0}", "- {name: till.v1.3.0, skips: ['']}", "catalog.yaml:15: till: channel fast: till.v1.3.0: skips has an empty name"},
		"alias":                    {"{type: olm.package, value: {packageName: till, version: 1.0.0}}]}", "&a {type: olm.package, value: {packageName: till, version: 1.0.0}},\n *a]}", "catalog.yaml:22: till: the alias *a is not allowed in a catalog: repeat the value"},
		"nesting":                  {"{type: olm.package, value: {packageName: till, version: 1.0.0}}]}", "{type: a, value: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}]}", "catalog.yaml:21: till: more than 100 levels of nesting"},
		"listed twice":             {"- {name: till.v1.0.0}", "- {name: till.v1.0.0}\n- {name: till.v1.0.0}", "catalog.yaml:6: till: channel stable lists till.v1.0.0 twice"},
		"range":                    {">=1.0.0 <1.2.0", "newer", `catalog.yaml:6: till: channel stable: till.v1.3.0: skipRange "newer" is not a range of versions`},
		"channel twice":            {"name: fast", "name: stable", "catalog.yaml:15: till: olm.channel stable: the channel is also in"},
		"bundle twice":             {"name: till.v1.2.0, image", "name: till.v1.1.0, image", "catalog.yaml:25: till: olm.bundle till.v1.1.0: the bundle is also in"},
		"version twice":            {"version: 1.1.0", "version: 1.0.0", "catalog.yaml:23: till: bundle till.v1.1.0 has the version 1.0.0, as till.v1.0.0 has"},
		"release twice":            {"version: 1.0.0}}]}\n---\n{schema: olm.bundle, package: till, name: till.v1.1.0, image: \"r.example.com/t:2\", properties: [{type: olm.package, value: {packageName: till, version: 1.1.0}", "version: 1.0.0, release: a.1}}]}\n---\n{schema: olm.bundle, package: till, name: till.v1.1.0, image: \"r.example.com/t:2\", properties: [{type: olm.package, value: {packageName: till, version: 1.0.0, release: a.1}", "catalog.yaml:23: till: bundle till.v1.1.0 has the version 1.0.0, release a.1, as till.v1.0.0 has"},
		"icon of text":             {"defaultChannel: stable", "defaultChannel: stable\nicon: {base64data: aGVsbG8=, mediatype: text/plain}", `catalog.yaml:2: till: icon: the media type "text/plain" is not one of an image`},
		"no image":                 {`image: "r.example.com/t:1"`, `image: ""`, "catalog.yaml:21: till: bundle till.v1.0.0 has neither an image nor properties olm.bundle.object"},
		"not an image":             {"r.example.com/t:1", "R.example.com/T T", `catalog.yaml:21: till: bundle till.v1.0.0: "R.example.com/T T" is not an image`},
		"no version":               {"properties: [{type: olm.package, value: {packageName: till, version: 1.0.0}}]", "properties: []", "catalog.yaml:21: till: bundle till.v1.0.0 has 0 properties olm.package, want 1"},
		"bad version":              {"version: 1.0.0}", "version: one}", `catalog.yaml:21: till: bundle till.v1.0.0: properties[0], olm.package: "one" is not a semantic version`},
		"other package":            {"{packageName: till, version: 1.0.0}", "{packageName: safe, version: 1.0.0}", `catalog.yaml:21: till: bundle till.v1.0.0: properties[0], olm.package: packageName is "safe", want till`},
		"kind":                     {"{group: shop.example.com, version: v1, kind: Till}", "{group: shop.example.com}", "catalog.yaml:27: till: bundle till.v1.3.0: properties[1], olm.gvk: want group, version and kind"},
		"required package":         {own, own + "{type: olm.package.required, value: {packageName: safe, versionRange: new}}, ", `catalog.yaml:27: till: bundle till.v1.3.0: properties[1], olm.package.required: "new" is not a range of versions`},
		"property without a value": {own, own + "{type: tier}, ", "catalog.yaml:27: till: bundle till.v1.3.0: properties[1]: want type and value"},
		"deprecated nothing":       {"name: till.v1.0.0}, message", "name: till.v0.1.0}, message", `catalog.yaml:29: till: a deprecation is of olm.bundle "till.v0.1.0", which the package does not have`},
		"no message":               {"message: it loses coins", `message: ""`, `catalog.yaml:29: till: the deprecation of olm.bundle "till.v1.0.0" has no message`},
		"case":                     {"name: till\ndefaultChannel: stable", "name: till\ndefaultChannel: stable\ndefaultchannel: fast", "catalog.yaml:2: till: olm.package till: the fields defaultChannel and defaultchannel differ only in case"},
		"type":                     {"name: fast\nentries:", "name: fast\nproperties: 1\nentries:", "catalog.yaml:15: till: olm.channel fast: json: cannot unmarshal number into Go struct field Channel.properties of type []catalog.Property"},
		"no schema":                {"schema: olm.deprecations\n", "", "catalog.yaml:29: till: the object has no schema"},
		"no package":               {"schema: olm.deprecations\npackage: till", "schema: olm.deprecations", "catalog.yaml:29: : the object of schema olm.deprecations names no package"},
		"not YAML":                 {"entries:\n- {reference", "entries:\n- {{reference", "catalog.yaml:28: till: not valid YAML: "},
		"package twice":            {"schema: olm.deprecations\npackage: till", "schema: olm.package\nname: till\n---\nschema: olm.deprecations\npackage: till", "catalog.yaml:29: till: olm.package till: the package is also in"},
	} {
		content := strings.Replace(till, test.old, test.new, 1)
		if content == till {
			t.Errorf("%s: %q does not occur", name, test.old)
		}
		got := problems(read(t, map[string]string{"catalog.yaml": content}))
		if len(got) == 0 || !strings.HasPrefix(got[0], test.want) && !contains(got, test.want) {
			t.Errorf("%s: problems %q, want %q", name, got, test.want)
		}
	}
}

func contains(all []string, want string) bool {
	for _, one := range all {
		if strings.HasPrefix(one, want) {
			return true
		}
	}
	return false
}

// Releases of one version, and icons of all formats, are accepted.
func TestAccepted(t *testing.T) {
	t.Parallel()
	releases := strings.NewReplacer("version: 1.0.0}", "version: 1.0.0, release: a.1}", "version: 1.1.0}", "version: 1.0.0, release: a.2}").Replace(till)
	for name, content := range map[string]string{
		"releases": releases,
		"webp":     strings.Replace(till, "defaultChannel: stable", "defaultChannel: stable\nicon: {base64data: UklGRgAAAABXRUJQVlA4, mediatype: image/webp}", 1),
		"jpg":      strings.Replace(till, "defaultChannel: stable", "defaultChannel: stable\nicon: {base64data: /9j/4AAQ, mediatype: image/jpg}", 1),
		"unknown":  strings.Replace(till, "defaultChannel: stable", "defaultChannel: stable\nicon: {base64data: AAAAIGZ0eXBhdmlm, mediatype: image/avif}", 1),
	} {
		if got := problems(read(t, map[string]string{"catalog.yaml": content})); len(got) > 0 {
			t.Errorf("%s: problems %q", name, got)
		}
	}
}

// Each directory can have a list of files that are not read. The last line that matches decides.
func TestIgnored(t *testing.T) {
	t.Parallel()
	object := func(name string) string { return "{schema: example.file, name: " + name + "}" }
	files := map[string]string{
		".indexignore":         "# a comment\n\n*.tmp.yaml\n/top.yaml\ndrafts/\nold/**/x.yaml\na/*.json\n\\#odd.yaml\nrange[0-2].yaml\nother[!a].yaml\n",
		"sub/.indexignore":     "!keep.tmp.yaml\n/own.yaml\nonly.yaml\n",
		"sub/deep/own.yaml":    object("sub/deep/own.yaml"),
		"sub/keep.tmp.yaml":    object("sub/keep.tmp.yaml"),
		"sub/top.yaml":         object("sub/top.yaml"),
		"only.yaml":            object("only.yaml"),
		"drafts.yaml":          object("drafts.yaml"),
		"range3.yaml":          object("range3.yaml"),
		"othera.yaml":          object("othera.yaml"),
		"a/b/c.json":           `{"schema": "example.file", "name": "a/b/c.json"}`,
		"top.yaml":             "{",
		"sub/own.yaml":         "{",
		"sub/deep/only.yaml":   "{",
		"sub/other.tmp.yaml":   "{",
		"sub/drafts/a.yaml":    "{",
		"old/x.yaml":           "{",
		"old/a/b/x.yaml":       "{",
		"a/c.json":             "{",
		"#odd.yaml":            "{",
		"range2.yaml":          "{",
		"sub/deep/otherb.yaml": "{",
	}
	c := read(t, files)
	if got := problems(c); len(got) > 0 {
		t.Errorf("problems %q", got)
	}
	want := 0
	for _, content := range files {
		if strings.Contains(content, "example.file") {
			want++
		}
	}
	if len(c.Others) != want {
		t.Errorf("%d files are read, want %d", len(c.Others), want)
	}
}

// A package with a problem does not affect the others: its problems name it.
func TestABrokenPackageIsAlone(t *testing.T) {
	t.Parallel()
	safe := strings.ReplaceAll(till, "till", "safe")
	c := read(t, map[string]string{"catalog.yaml": strings.Replace(till, "entries:\n- {name: till.v1.0.0}", "entries: {{", 1) + safe})
	if p := c.Package("safe"); p == nil || len(p.Problems) > 0 || len(p.Bundles) != 4 {
		t.Errorf("the other package is %+v", p)
	}
	if p := c.Package("till"); p == nil || len(p.Problems) == 0 || len(c.Problems) > 0 {
		t.Errorf("the problems are %q", problems(c))
	}
}

func TestReadRejects(t *testing.T) {
	t.Parallel()
	if _, err := catalog.Read("/nowhere"); err == nil || err.Error() != "there is no directory /nowhere; name a directory with a catalog" {
		t.Errorf("the error is %v", err)
	}
	if _, err := catalog.Read(t.TempDir()); err == nil || !strings.Contains(err.Error(), "has no catalog in it: want files .yaml or .json") {
		t.Errorf("the error is %v", err)
	}
	for content, want := range map[string]string{"- a\n": "it is of type array", "schema: a\nname: 1\n": "name is of type number"} {
		if got := problems(read(t, map[string]string{"a.yaml": content})); len(got) != 1 || !strings.Contains(got[0], "a.yaml:1: : want an object with schema: "+want) {
			t.Errorf("problems %q", got)
		}
	}
	c := read(t, map[string]string{"a.json": `{"schema": "olm.package", "name": "a"}` + "\n" + `{"schema": `})
	if got := problems(c); !contains(got, "a.json:2: : not valid JSON: unexpected EOF; the rest of the file is not read") {
		t.Errorf("problems %q", got)
	}
	deep := read(t, map[string]string{"a.json": `{"schema": "olm.package", "name": "a", "x": ` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}` + "\n" + `{"schema": "a", "x": "\"` + strings.Repeat("[", 200) + `"}`})
	if got := problems(deep); len(got) != 1 || !strings.Contains(got[0], "a.json:1: : more than 100 levels of nesting") || len(deep.Others) != 1 {
		t.Errorf("problems %q", got)
	}
	large := read(t, map[string]string{
		"a.json": `{"schema": "a", "x": "` + strings.Repeat("x", 33<<20) + `"}` + "\n" + `{"schema": "b"}`,
		"b.yaml": "schema: a\nx: " + strings.Repeat("x", 33<<20) + "\n---\nschema: b\n",
	})
	if got := problems(large); len(got) != 2 || !contains(got, "a.json:1: : the object has more than 32 MiB") || !contains(got, "b.yaml:1: : the object has more than 32 MiB") || len(large.Others) != 2 {
		t.Errorf("problems %q", got)
	}
	outside := filepath.Join(t.TempDir(), "outside.yaml")
	testaid.Write(t, outside, till)
	dir := t.TempDir()
	testaid.Write(t, filepath.Join(dir, "a.yaml"), strings.ReplaceAll(till, "till", "safe"))
	if err := os.Symlink(outside, filepath.Join(dir, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	if c, err := catalog.Read(dir); err != nil || len(c.Packages) != 1 {
		t.Errorf("a link out of the catalog is followed: %v", err)
	}
}

// A catalog of bundles in both layouts has no problems, and says the same as the bundles.
func TestRender(t *testing.T) {
	t.Parallel()
	const bundles = "../bundle/testdata"
	c, err := catalog.Render([]string{bundles}, "r.example.com/{package}-bundle:v{version}")
	if err != nil {
		t.Fatal(err)
	}
	if c.Check(); len(c.AllProblems()) > 0 {
		t.Errorf("problems %q", problems(c))
	}
	bell, lamp := c.Package("bell"), c.Package("lamp-operator")
	if bell == nil || lamp == nil || len(c.Packages) != 2 {
		t.Fatalf("the packages are %+v", c.Packages)
	}
	if len(bell.Bundles) != 2 || bell.Channel("stable").Heads()[0] != "bell.v1.1.0" || bell.Channel("old").Heads()[0] != "bell.v1.0.0" || bell.DefaultChannel != "stable" {
		t.Errorf("the package of the older layout is %+v", bell)
	}
	head := lamp.Bundle("lamp-operator.v1.1.0")
	if head.Image != "r.example.com/lamp-operator-bundle:v1.1.0" || lamp.Icon == nil || lamp.Icon.MediaType != "image/svg+xml" {
		t.Errorf("the bundle is %+v", head)
	}
	types := map[string]int{}
	for _, one := range head.Properties {
		types[one.Type]++
	}
	if types["olm.package"] != 1 || types["olm.gvk"] != 1 || types["olm.gvk.required"] != 1 || types["olm.csv.metadata"] != 1 || types["olm.bundle.object"] != 0 {
		t.Errorf("the properties are %v", types)
	}
	inside, err := catalog.Render([]string{bundles + "/lamp"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if inside.Check(); len(inside.AllProblems()) > 0 {
		t.Errorf("problems %q", problems(inside))
	}
	found := false
	for _, one := range inside.Packages[0].Bundles[0].Properties {
		var value struct{ Data []byte }
		if one.Type == "olm.bundle.object" && json.Unmarshal(one.Value, &value) == nil {
			found = found || strings.Contains(string(value.Data), `"kind":"ClusterServiceVersion"`)
		}
	}
	if !found {
		t.Error("the manifests are not part of the catalog")
	}
	dir := t.TempDir()
	if err := c.Save(t.Context(), dir, catalog.YAML); err != nil {
		t.Fatal(err)
	}
	saved, err := catalog.Read(dir)
	if err != nil || len(saved.Packages) != 2 || written(t, saved.Packages[1]) != written(t, lamp) {
		t.Errorf("the saved catalog differs: %v", err)
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	before := read(t, map[string]string{"a.yaml": till, "b.yaml": strings.ReplaceAll(till, "till", "safe")})
	if got := catalog.Diff(before, before); len(got) > 0 {
		t.Errorf("the same catalog differs in %v", got)
	}
	newer := strings.NewReplacer(
		"defaultChannel: stable", "defaultChannel: fast",
		"- {name: till.v1.3.0, replaces: till.v0.9.0}", "- {name: till.v1.4.0, replaces: till.v1.3.0}\n- {name: till.v1.3.0}",
		"- {name: till.v1.0.0}\n", "",
		"{schema: olm.bundle, package: till, name: till.v1.0.0, image: \"r.example.com/t:1\", properties: [{type: olm.package, value: {packageName: till, version: 1.0.0}}]}",
		"{schema: olm.bundle, package: till, name: till.v1.4.0, image: \"r.example.com/t:5\", properties: [{type: olm.package, value: {packageName: till, version: 1.4.0}}]}",
		"r.example.com/t:2", "r.example.com/t:2b", "{schema: olm.bundle, name: till.v1.0.0}, message: it loses coins", "{schema: olm.channel, name: stable}, message: use fast",
	).Replace(till)
	after := read(t, map[string]string{"a.yaml": newer, "c.yaml": strings.ReplaceAll(till, "till", "door")})
	want := []catalog.Change{
		{Package: "door", Text: "the package is new: 4 bundles, default channel stable"},
		{Package: "safe", Text: "the package is removed", Breaks: true},
		{Package: "till", Text: "the default channel is fast instead of stable", Breaks: true},
		{Package: "till", Text: "bundle till.v1.0.0 is removed", Breaks: true},
		{Package: "till", Text: "bundle till.v1.1.0 has the image r.example.com/t:2b instead of r.example.com/t:2"},
		{Package: "till", Text: "bundle till.v1.4.0 is new"},
		{Package: "till", Text: "channel stable no longer has till.v1.0.0", Breaks: true},
		{Package: "till", Text: "channel fast has the head till.v1.4.0 instead of till.v1.3.0"},
		{Package: "till", Text: "channel fast: till.v1.3.0 replaces nothing instead of till.v0.9.0", Breaks: true},
		{Package: "till", Text: "channel fast has till.v1.4.0"},
		{Package: "till", Text: "channel stable is deprecated: use fast"},
		{Package: "till", Text: "bundle till.v1.0.0 is no longer deprecated"},
	}
	if got := catalog.Diff(before, after); !reflect.DeepEqual(got, want) {
		t.Errorf("the changes are\n%v\nwant\n%v", got, want)
	}
}

// Each field that differs is a change of its own, and ways to newer versions that are gone are marked.
func TestDiffOfFields(t *testing.T) {
	t.Parallel()
	before := read(t, map[string]string{"a.yaml": till})
	after := read(t, map[string]string{"a.yaml": strings.NewReplacer(
		"defaultChannel: stable", "defaultChannel: stable\ndescription: Counts.",
		"replaces: till.v1.1.0, skips: [till.v1.0.0]", "replaces: till.v1.0.0, skips: [till.v0.1.0]",
		">=1.0.0 <1.2.0", ">=1.1.0 <1.2.0",
		"image: \"r.example.com/t:3\", properties: [", "image: \"r.example.com/t:3b\", relatedImages: [{name: a, image: b}], properties: [{type: a, value: 1}, ",
	).Replace(till)})
	want := []catalog.Change{
		{Package: "till", Text: "the description differs"},
		{Package: "till", Text: "bundle till.v1.2.0 has the image r.example.com/t:3b instead of r.example.com/t:3"},
		{Package: "till", Text: "bundle till.v1.2.0 has other properties"},
		{Package: "till", Text: "bundle till.v1.2.0 has other related images"},
		{Package: "till", Text: "channel stable has the head till.v1.1.0, till.v1.3.0 instead of till.v1.3.0"},
		{Package: "till", Text: "channel stable: till.v1.2.0 replaces till.v1.0.0 instead of till.v1.1.0", Breaks: true},
		{Package: "till", Text: "channel stable: till.v1.2.0 no longer skips till.v1.0.0"},
		{Package: "till", Text: "channel stable: till.v1.2.0 skips till.v0.1.0"},
		{Package: "till", Text: "channel stable: till.v1.3.0 skips the versions >=1.1.0 <1.2.0 instead of >=1.0.0 <1.2.0", Breaks: true},
	}
	if got := catalog.Diff(before, after); !reflect.DeepEqual(got, want) {
		t.Errorf("the changes are\n%v\nwant\n%v", got, want)
	}
	wider := read(t, map[string]string{"a.yaml": strings.Replace(till, ">=1.0.0 <1.2.0", "<1.2.0", 1)})
	if got := catalog.Diff(before, wider); len(got) != 1 || got[0].Breaks {
		t.Errorf("a wider range is %v", got)
	}
	if got := catalog.Diff(before, read(t, map[string]string{"a.yaml": strings.Replace(till, `, skipRange: ">=1.0.0 <1.2.0"`, "", 1)})); len(got) != 1 || !got[0].Breaks {
		t.Errorf("a range that is gone is %v", got)
	}
}

func TestGraph(t *testing.T) {
	t.Parallel()
	graph := read(t, map[string]string{"catalog.yaml": till}).Package("till").Graph()
	want := `till
  channel stable, the default
    till.v1.3.0, the head, replaces till.v1.2.0, skips till.v1.0.0 till.v1.1.0
    till.v1.2.0, replaces till.v1.1.0, skips till.v1.0.0
    till.v1.1.0, replaces till.v1.0.0
    till.v1.0.0, deprecated: it loses coins
  channel fast
    till.v1.3.0, the head, replaces till.v0.9.0
`
	if got := graph.String(); got != want {
		t.Errorf("the graph is\n%s\nwant\n%s", got, want)
	}
	svg := graph.SVG()
	for text, want := range map[string]int{"<rect x": 5, "<line": 3, "<path": 3, "stroke-dasharray": 3, "stable (default)": 1, `fill="#fdd"`: 1, `fill="#dfd"`: 2} {
		if got := strings.Count(svg, text); got != want {
			t.Errorf("the picture has %d times %s, want %d", got, text, want)
		}
	}
}

// Whatever a catalog contains, it is read without a crash, and what is read can be written and read again.
func FuzzRead(f *testing.F) {
	f.Add(till)
	f.Add(`{"schema":"olm.package","name":"a"}{"schema":"olm.channel","package":"a","name":"b","entries":[{"name":"c","replaces":"c"}]}`)
	f.Add("schema: olm.bundle\npackage: a\nname: b\nproperties: [{type: olm.package}]\n---\n- a\n---\n{")
	f.Fuzz(func(t *testing.T, content string) {
		dir := t.TempDir()
		testaid.Write(t, filepath.Join(dir, "catalog.yaml"), content)
		c, err := catalog.Read(dir)
		if err != nil {
			return
		}
		c.Check()
		for _, p := range c.Packages {
			_, _ = p.Graph().String(), p.Graph().SVG()
		}
		var out bytes.Buffer
		if len(c.AllProblems()) == 0 {
			if err := c.Write(&out, catalog.YAML); err != nil {
				t.Fatal(err)
			}
			testaid.Write(t, filepath.Join(dir, "catalog.yaml"), out.String())
			again, err := catalog.Read(dir)
			if err != nil && len(c.Packages)+len(c.Others) > 0 {
				t.Fatal(err)
			}
			if err == nil && len(again.Packages) != len(c.Packages) {
				t.Errorf("%d packages instead of %d", len(again.Packages), len(c.Packages))
			}
		}
	})
}
