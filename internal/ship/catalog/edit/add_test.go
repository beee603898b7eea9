package edit_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/ship/catalog"
	"github.com/operon-framework/operon/internal/ship/catalog/edit"
	"github.com/operon-framework/operon/internal/testing/testaid"
)

// made writes a bundle of a package.
func made(t *testing.T, version, more string) string {
	t.Helper()
	dir := t.TempDir()
	testaid.Write(t, filepath.Join(dir, "metadata", "annotations.yaml"), `annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: till
  operators.operatorframework.io.bundle.channels.v1: stable
  operators.operatorframework.io.bundle.channel.default.v1: stable
`)
	testaid.Write(t, filepath.Join(dir, "manifests", "till.clusterserviceversion.yaml"), `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: till.v`+version+`}
spec:
  version: `+version+`
  displayName: Till
  install: {strategy: deployment, spec: {deployments: []}}
  installModes: [{type: AllNamespaces, supported: true}]
`+more)
	return dir
}

const till = `# the till
schema: olm.package
name: till
defaultChannel: stable
---
# upgrades
schema: olm.channel
package: till
name: stable
since: 2020 # unknown
entries:
- name: till.v1.0.0 # the first
---
schema: olm.bundle
package: till
name: till.v1.0.0
image: r.example.com/t:1
properties:
- {type: olm.package, value: {packageName: till, version: 1.0.0}}
`

func added(t *testing.T, o edit.Options) []string {
	t.Helper()
	all, err := edit.Add(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, one := range all {
		lines = append(lines, one.String())
	}
	return lines
}

// valid reads a catalog that has no problems.
func valid(t *testing.T, dir string) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if c.Check(); len(c.AllProblems()) > 0 {
		t.Errorf("problems: %v", c.AllProblems())
	}
	return c
}

const image = "r.example.com/{package}:{version}"

// Only the channel is changed, and it keeps its comments and unknown fields.
func TestAdd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "till.yaml")
	testaid.Write(t, file, till)
	got := added(t, edit.Options{Catalog: dir, Image: image, Bundles: []string{made(t, "1.1.0", ""), made(t, "1.2.0", "")}})
	if want := []string{"till: till.v1.1.0 is the head of channel stable and replaces till.v1.0.0", "till: till.v1.2.0 is the head of channel stable and replaces till.v1.1.0"}; !slices.Equal(got, want) {
		t.Errorf("added %q, want %q", got, want)
	}
	content := testaid.Read(t, file)
	begin := strings.Replace(till, "# the first\n", "# the first\n  - name: till.v1.1.0\n    replaces: till.v1.0.0\n  - name: till.v1.2.0\n    replaces: till.v1.1.0\n", 1)
	begin = strings.Replace(begin, "- name: till.v1.0.0 # the", "  - name: till.v1.0.0 # the", 1)
	if !strings.HasPrefix(content, begin+"---\nimage: r.example.com/till:1.1.0\n") {
		t.Errorf("the file is\n%s\nwant it to begin with\n%s", content, begin)
	}
	if c := valid(t, dir); len(c.Package("till").Bundles) != 3 {
		t.Errorf("the package is %+v", c.Package("till"))
	}
}

// In JSON, the text of everything else stays.
func TestAddToJSON(t *testing.T) {
	t.Parallel()
	for name, channel := range map[string]string{
		"indented": "{\n    \"schema\": \"olm.channel\",\n    \"package\": \"till\",\n    \"name\": \"stable\",\n    \"entries\": [\n        {\n            \"name\": \"till.v1.0.0\"\n        }\n    ],\n    \"since\": 2020\n}",
		"compact":  `{"schema":"olm.channel","package":"till","name":"stable","entries":[{"name":"till.v1.0.0"}],"since":2020}`,
	} {
		dir := t.TempDir()
		begin, end := `{"schema": "olm.package", "name": "till", "defaultChannel": "stable"}`+"\n", "\n"+`{"schema":"olm.bundle","package":"till","name":"till.v1.0.0","image":"r.example.com/t:1","properties":[{"type":"olm.package","value":{"packageName":"till","version":"1.0.0"}}]}`
		testaid.Write(t, filepath.Join(dir, "till.json"), begin+channel+end)
		added(t, edit.Options{Catalog: dir, Image: image, Bundles: []string{made(t, "1.1.0", "")}})
		content := testaid.Read(t, filepath.Join(dir, "till.json"))
		changed, rest, ok := strings.Cut(strings.TrimPrefix(content, begin), end+"\n{\n")
		if !ok || !strings.HasPrefix(content, begin) || !strings.Contains(rest, `"image": "r.example.com/till:1.1.0"`) {
			t.Errorf("%s: the file is\n%s", name, content)
		}
		if want := strings.Replace(channel, "}]", `}, {"name":"till.v1.1.0","replaces":"till.v1.0.0"}]`, 1); name == "compact" && changed != want {
			t.Errorf("the channel is\n%s\nwant\n%s", changed, want)
		}
		if want := strings.Replace(channel, "        }\n    ]", "        },\n        {\"name\":\"till.v1.1.0\",\"replaces\":\"till.v1.0.0\"}\n    ]", 1); name == "indented" && changed != want {
			t.Errorf("the channel is\n%s\nwant\n%s", changed, want)
		}
		if c := valid(t, dir); c.Package("till").Channel("stable").Heads()[0] != "till.v1.1.0" {
			t.Errorf("%s: the heads are %q", name, c.Package("till").Channel("stable").Heads())
		}
	}
}

// What a ClusterServiceVersion says about upgrades is kept. Channels and packages that do not exist are made.
func TestAddChannelsAndPackages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testaid.Write(t, filepath.Join(dir, "till.yaml"), till)
	skipping := made(t, "1.1.0", "  replaces: till.v1.0.0\n  skips: [till.v1.0.1]\n")
	if got := added(t, edit.Options{Catalog: dir, Image: image, Bundles: []string{skipping}, Channels: []string{"stable", "fast"}}); !slices.Equal(got, []string{
		"till: till.v1.1.0 is the head of channel stable and replaces till.v1.0.0", "till: till.v1.1.0 is the head of channel fast and replaces till.v1.0.0",
	}) {
		t.Errorf("added %q", got)
	}
	p := valid(t, dir).Package("till")
	if len(p.Channels) != 2 || p.Channel("fast").Entries[0].Skips[0] != "till.v1.0.1" {
		t.Errorf("the channels are %+v", p.Channels)
	}
	got := added(t, edit.Options{Catalog: dir, Image: image, Bundles: []string{"../../bundle/testdata"}, Channels: []string{"one"}})
	if len(got) != 3 || !strings.Contains(strings.Join(got, "\n"), "bell: bell.v1.1.0 is the head of channel one and replaces bell.v1.0.0") {
		t.Errorf("added %q", got)
	}
	if c := valid(t, dir); len(c.Packages) != 3 || c.Package("bell").DefaultChannel != "one" {
		t.Errorf("the packages are %+v", c.Packages)
	}
}

// If something is wrong, the catalog stays as it is.
func TestAddRejects(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		catalog, bundle, want string
		channels              []string
	}{
		"exists":         {till, made(t, "1.0.0", ""), "bundle till.v1.0.0 is in the catalog: ", nil},
		"another head":   {till, made(t, "1.1.0", "  replaces: till.v0.9.0\n"), "nothing is added, because the package would have problems: ", nil},
		"same version":   {strings.Replace(till, "version: 1.0.0", "version: 1.1.0", 1), made(t, "1.1.0", ""), "has the version 1.1.0", nil},
		"broken already": {till + "---\nschema: olm.channel\npackage: till\nname: [\n", made(t, "1.1.0", ""), "not valid YAML", nil},
		"older":          {strings.Replace(till, "version: 1.0.0", "version: 1.2.0", 1), made(t, "1.1.5", ""), "till.v1.1.5 has the version 1.1.5, which is older than 1.2.0 of till.v1.0.0, the head of channel stable: it would replace it as if it were an upgrade; set spec.replaces of its ClusterServiceVersion, give it a newer version, or use another channel", nil},
		"syntax below": {`{"schema": "olm.package", "name": "till", "defaultChannel": "stable"}
			{"schema": "olm.channel", "package": "till", "name": "stable", "entries": [{"name": "till.v1.0.0"}]}
			{"schema": "olm.bundle", "package": "till", "name": "till.v1.0.0", "image": "r.example.com/t:1", "properties": [{"type": "olm.package", "value": {"packageName": "till", "version": "1.0.0"}}]}
			{`, made(t, "1.1.0", ""), "the rest of the file is not read", nil},
		"no bundle":  {till, t.TempDir(), "", nil},
		"no entries": {strings.Replace(till, "entries:\n- name: till.v1.0.0 # the first", "entries: 5", 1), made(t, "1.1.0", ""), "channel stable cannot be read", nil},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "till.yaml")
		testaid.Write(t, file, test.catalog)
		_, err := edit.Add(t.Context(), edit.Options{Catalog: dir, Image: image, Bundles: []string{test.bundle}, Channels: test.channels})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: the error is %v", name, err)
		}
		if testaid.Read(t, file) != test.catalog {
			t.Errorf("%s: the catalog is changed", name)
		}
		if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
			t.Errorf("%s: the catalog has %d files, %v", name, len(all), err)
		}
	}
	if _, err := edit.Add(t.Context(), edit.Options{Catalog: t.TempDir(), Image: image, Bundles: []string{made(t, "1.0.0", "")}}); err == nil || !strings.Contains(err.Error(), "has no catalog in it") {
		t.Errorf("the error is %v", err)
	}
}
