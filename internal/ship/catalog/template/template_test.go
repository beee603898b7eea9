package template_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/ship/catalog"
	"github.com/operon-framework/operon/internal/ship/catalog/template"
	"github.com/operon-framework/operon/internal/testing/testaid"
)

// bundles writes bundles of a package in directories with the names of their versions.
func bundles(t *testing.T, of string, versions ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, version := range versions {
		testaid.Write(t, filepath.Join(dir, version, "metadata", "annotations.yaml"), `annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: `+of+`
  operators.operatorframework.io.bundle.channels.v1: any
`)
		testaid.Write(t, filepath.Join(dir, version, "manifests", "csv.yaml"), `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: `+of+`.v`+version+`}
spec:
  version: `+version+`
  description: `+of+` `+version+`
  install: {strategy: deployment, spec: {deployments: []}}
  installModes: [{type: AllNamespaces, supported: true}]
`)
	}
	return dir
}

const image = "r.example.com/{package}:v{version}"

// listed returns the YAML form of a list of bundles.
func listed(versions ...string) string {
	var out strings.Builder
	for _, version := range versions {
		fmt.Fprintf(&out, "  - image: r.example.com/till:v%s\n", version)
	}
	return "  bundles:\n" + out.String()
}

// upgrades returns each entry of each channel, without the name of the package.
func upgrades(p *catalog.Package) map[string][]string {
	all := map[string][]string{}
	for _, c := range p.Channels {
		for _, e := range c.Entries {
			text := fmt.Sprintf("%s <- %s %v", e.Name, e.Replaces, e.Skips)
			all[c.Name] = append(all[c.Name], strings.ReplaceAll(text, "till.v", ""))
		}
	}
	return all
}

func expanded(t *testing.T, content string, o template.Options) (*catalog.Catalog, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "template.yaml")
	testaid.Write(t, path, content)
	return template.Expand(path, o)
}

func TestSemver(t *testing.T) {
	t.Parallel()
	dir := bundles(t, "till", "0.1.0", "0.1.1", "0.2.0", "1.0.0", "1.0.1", "1.1.0", "1.1.1", "1.2.0", "2.0.0")
	minor := map[string][]string{
		"candidate-v2.0": {"2.0.0 <-  []"},
		"stable-v0.1":    {"0.1.0 <-  []", "0.1.1 <-  [0.1.0]"},
		"stable-v0.2":    {"0.2.0 <- 0.1.1 [0.1.0]"},
		"stable-v1.0":    {"1.0.0 <-  []", "1.0.1 <-  [1.0.0]"},
		"stable-v1.1":    {"1.1.0 <-  []", "1.1.1 <- 1.0.1 [1.0.0 1.1.0]"},
		"stable-v1.2":    {"1.2.0 <- 1.1.1 [1.0.0 1.0.1 1.1.0]"},
	}
	major := map[string][]string{
		"candidate-v2": {"2.0.0 <-  []"},
		"stable-v0":    {"0.1.0 <-  []", "0.1.1 <-  [0.1.0]", "0.2.0 <- 0.1.1 [0.1.0]"},
		"stable-v1":    {"1.0.0 <-  []", "1.0.1 <-  [1.0.0]", "1.1.0 <-  []", "1.1.1 <- 1.0.1 [1.0.0 1.1.0]", "1.2.0 <- 1.1.1 [1.0.0 1.0.1 1.1.0]"},
	}
	both := maps.Clone(minor)
	maps.Copy(both, major)
	lists := "candidate:\n" + listed("2.0.0") + "Stable:\n" + listed("1.2.0", "0.1.0", "0.1.1", "0.2.0", "1.0.0", "1.1.0", "1.0.1", "1.1.1")
	for name, test := range map[string]struct {
		head string
		want map[string][]string
		main string
	}{
		"neither":      {"", minor, "stable-v1.2"},
		"major":        {"GenerateMajorChannels: true\n", major, "stable-v1"},
		"both":         {"generateMajorChannels: true\ngenerateMinorChannels: true\n", both, "stable-v1.2"},
		"prefer major": {"generateMajorChannels: true\ngenerateMinorChannels: true\ndefaultChannelTypePreference: major\n", both, "stable-v1"},
	} {
		c, err := expanded(t, "schema: olm.semver\n"+test.head+lists, template.Options{Bundles: []string{dir}, Image: image})
		if err != nil {
			t.Fatal(err)
		}
		if c.Check(); len(c.AllProblems()) > 0 {
			t.Errorf("%s: problems %v", name, c.AllProblems())
		}
		p := c.Packages[0]
		if got := upgrades(p); !maps.EqualFunc(got, test.want, slices.Equal) {
			t.Errorf("%s: the channels are %q, want %q", name, got, test.want)
		}
		if p.DefaultChannel != test.main || p.Description != "till 2.0.0" || len(p.Bundles) != 9 {
			t.Errorf("%s: default channel %s, description %s, %d bundles", name, p.DefaultChannel, p.Description, len(p.Bundles))
		}
	}
}

// A bundle can be a directory beside the template.
func TestDirectories(t *testing.T) {
	t.Parallel()
	dir := bundles(t, "till", "1.0.0", "1.1.0")
	path := filepath.Join(dir, "template.yaml")
	testaid.Write(t, path, "schema: olm.semver\nfast: {bundles: [{image: 1.0.0}, {image: ./1.1.0}]}\n")
	c, err := template.Expand(path, template.Options{Image: image})
	if err != nil {
		t.Fatal(err)
	}
	p := c.Packages[0]
	if c.Check(); len(c.AllProblems()) > 0 || len(p.Bundles) != 2 || p.Bundle("till.v1.1.0").Image != "r.example.com/till:v1.1.0" || p.DefaultChannel != "fast-v1.1" {
		t.Errorf("the package is %+v, problems %v", p, c.AllProblems())
	}
	testaid.Write(t, path, "schema: olm.semver\ncandidate: {bundles: [{image: 1.1.0}]}\nfast: {bundles: [{image: 1.0.0}]}\n")
	c, err = template.Expand(path, template.Options{Image: image})
	if err != nil || c.Packages[0].Description != "till 1.1.0" {
		t.Errorf("the description is not that of the newest bundle: %+v, %v", c, err)
	}
}

func TestBasic(t *testing.T) {
	t.Parallel()
	dir := bundles(t, "till", "1.0.0", "1.1.0")
	content := `schema: olm.template.basic
entries:
- {schema: olm.package, name: till, defaultChannel: stable}
- schema: olm.channel
  package: till
  name: stable
  entries: [{name: till.v1.0.0}, {name: till.v1.1.0, replaces: till.v1.0.0}]
- {schema: olm.bundle, image: "r.example.com/till:v1.0.0"}
- {schema: olm.bundle, package: till, name: till.v1.1.0, image: "r.example.com/other", properties: [{type: olm.package, value: {packageName: till, version: 1.1.0}}]}
- {schema: notes, text: hello}
`
	c, err := expanded(t, content, template.Options{Bundles: []string{dir}, Image: image})
	if err != nil {
		t.Fatal(err)
	}
	p := c.Package("till")
	if c.Check(); len(c.AllProblems()) > 0 || len(p.Bundles) != 2 || p.Bundle("till.v1.0.0").Version() != "1.0.0" || p.Bundle("till.v1.1.0").Image != "r.example.com/other" || len(c.Others) != 1 {
		t.Errorf("the package is %+v, problems %v", p, c.AllProblems())
	}
	broken, err := expanded(t, strings.Replace(content, "defaultChannel: stable", "defaultChannel: fast", 1), template.Options{Bundles: []string{dir}, Image: image})
	if err != nil {
		t.Fatal(err)
	}
	if broken.Check(); len(broken.AllProblems()) != 1 || broken.AllProblems()[0].At.Line != 3 {
		t.Errorf("the problems are %v", broken.AllProblems())
	}
}

func TestExpandRejects(t *testing.T) {
	t.Parallel()
	dirs := []string{bundles(t, "till", "1.0.0", "1.0.0+a", "1.1.0"), bundles(t, "safe", "2.0.0")}
	for content, want := range map[string]string{
		"schema: olm.bundle":           `has the schema "olm.bundle": want a template with the schema olm.template.basic or olm.semver, or a directory with bundles`,
		"{":                            "is not a template: ",
		"schema: olm.semver":           "lists no bundles: want candidate, fast or stable, with bundles",
		"schema: olm.template.basic":   "has no entries",
		"schema: olm.semver\nslow: {}": `unknown field "slow"`,
		"schema: olm.semver\nstable:\n" + listed("9.0.0"):                                          "template.yaml:1:1: r.example.com/till:v9.0.0 is neither the image of a bundle nor a directory: ",
		"schema: olm.semver\nstable: {bundles: [{}]}":                                              "stable.bundles[0]: ",
		"schema: olm.semver\nstable:\n" + listed("1.0.0", "1.0.0+a"):                               "stable: the versions 1.0.0 and 1.0.0+a have no order",
		"schema: olm.semver\nstable:\n" + listed("1.0.0") + "  - image: r.example.com/safe:v2.0.0": "the bundle ",
		"schema: olm.semver\ndefaultChannelTypePreference: patch":                                  `defaultChannelTypePreference is "patch": want major or minor`,
		"schema: olm.semver\ndefaultChannelTypePreference: major":                                  "defaultChannelTypePreference is major, but channels of this type are not generated",
		"schema: olm.template.basic\nentries: [1]":                                                 "template.yaml:2:1: want an object with schema",
		"schema: olm.template.basic\nentries:\n- {schema: olm.bundle, image: x}":                   "template.yaml:3:1: x is neither the image of a bundle nor a directory",
		"schema: olm.template.basic\nentries: 5":                                                   "is not a template: ",
	} {
		if _, err := expanded(t, content, template.Options{Bundles: dirs, Image: image}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %s", content, err, want)
		}
	}
	if _, err := template.Expand("/nowhere.yaml", template.Options{}); err == nil {
		t.Error("a missing template is no error")
	}
	large := filepath.Join(t.TempDir(), "large.yaml")
	testaid.Write(t, large, "x")
	if err := os.Truncate(large, 2<<30); err != nil {
		t.Fatal(err)
	}
	if _, err := template.Expand(large, template.Options{}); err == nil || !strings.Contains(err.Error(), "has more than 16 MiB") {
		t.Errorf("the error is %v", err)
	}
}

// Whatever a template contains, it gives a catalog or an error.
func FuzzExpand(f *testing.F) {
	f.Add("schema: olm.semver\nstable: {bundles: [{image: a}]}\n")
	f.Add("schema: olm.template.basic\nentries: [{schema: olm.bundle, image: a}, {schema: olm.package, name: x}]\n")
	f.Add("schema: olm.template.basic\nentries: [&a [*a]]\n")
	f.Fuzz(func(t *testing.T, content string) {
		if c, err := expanded(t, content, template.Options{Image: image}); err == nil {
			c.Check()
		}
	})
}
