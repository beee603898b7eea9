package configmap_test

import (
	"bytes"
	"compress/gzip"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/operon-framework/operon/internal/ship/catalog"

	"github.com/operon-framework/operon/olm/internal/configmap"
)

const (
	csv = `- apiVersion: operators.coreos.com/v1alpha1
  kind: ClusterServiceVersion
  metadata: {name: tills.vVERSION, annotations: {olm.skipRange: <0.1.0}}
  spec:
    version: VERSION
    replaces: REPLACES
    skips: [tills.v0.0.9]
    customresourcedefinitions:
      owned: [{name: tills.shop.example.com, version: v1, kind: Till}, {name: elsewhere.example.com, version: v1, kind: Else}]
      required: [{name: drawers.shop.example.com, version: v1, kind: Drawer}]
    install: {strategy: deployment, spec: {deployments: []}}
`
	crds = `- apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata: {name: tills.shop.example.com}
  spec:
    group: shop.example.com
    names: {kind: Till, plural: tills}
    scope: Namespaced
    versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
- apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata: {name: others.shop.example.com}
`
	packages = `- packageName: tills
  channels:
  - {name: stable, currentCSV: tills.v2.0.0}
  - {name: old, currentCSV: tills.v1.0.0}
  defaultChannel: stable
`
)

func write(data map[string]string, into string) (string, error) {
	return configmap.Write(&corev1.ConfigMap{Data: data}, into)
}

func version(of, replaces string) string {
	return strings.NewReplacer("VERSION", of, "REPLACES", replaces).Replace(csv)
}

func good() map[string]string {
	return map[string]string{
		"packages": packages, "customResourceDefinitions": crds,
		"clusterServiceVersions": version("1.0.0", "") + version("2.0.0", "tills.v1.0.0") + version("3.0.0", "tills.v2.0.0"),
	}
}

// The versions that a channel leads to are in the catalog, each with the definitions that it owns. The digest depends on the content alone.
func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	digest, err := write(good(), dir)
	if err != nil {
		t.Fatal(err)
	}
	read, err := catalog.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if all := read.AllProblems(); len(all) > 0 {
		t.Fatalf("the catalog has the problems %v", all)
	}
	tills := read.Package("tills")
	if tills == nil || len(read.Packages) != 1 || tills.DefaultChannel != "stable" || len(tills.Bundles) != 2 {
		t.Fatalf("the packages are %+v", read.Packages)
	}
	if old := tills.Channel("old"); len(old.Entries) != 1 || old.Entries[0].Name != "tills.v1.0.0" {
		t.Errorf("the channel old is %+v", old)
	}
	if stable := tills.Channel("stable"); len(stable.Entries) != 2 || stable.Entries[1].Replaces != "tills.v1.0.0" || stable.Entries[1].SkipRange != "<0.1.0" || len(stable.Entries[1].Skips) != 1 {
		t.Errorf("the channel stable is %+v", stable)
	}
	counts := map[string]int{}
	for _, one := range tills.Bundle("tills.v2.0.0").Properties {
		counts[one.Type]++
	}
	if want := map[string]int{"olm.package": 1, "olm.gvk": 1, "olm.gvk.required": 1, "olm.bundle.object": 2}; !maps.Equal(counts, want) {
		t.Errorf("the properties are %v, want %v", counts, want)
	}
	if again, err := write(good(), t.TempDir()); err != nil || again != digest {
		t.Errorf("the digest is %s, and then %s, %v", digest, again, err)
	}
	changed := good()
	changed["clusterServiceVersions"] += "\n"
	if other, err := write(changed, t.TempDir()); err != nil || other == digest {
		t.Errorf("the digest of other data is %s, %v", other, err)
	}
}

// Mistakes of a package are in the catalog that is written, so that whoever reads it finds them.
func TestBrokenPackages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ packages, versions, want string }{
		"missing head":      {packages: strings.Replace(packages, "2.0.0", "4.0.0", 1), want: "tills.v4.0.0"},
		"no channels":       {packages: "- {packageName: tills}\n", want: "tills"},
		"no default":        {packages: strings.Replace(packages, "defaultChannel", "other", 1), want: "defaultChannel"},
		"circle":            {versions: version("1.0.0", "tills.v2.0.0") + version("2.0.0", "tills.v1.0.0"), want: "tills.v"},
		"the only channel":  {packages: "- {packageName: tills, channels: [{name: only, currentCSV: tills.v1.0.0}]}\n"},
		"replaces nobody":   {versions: version("2.0.0", "tills.v1.0.0"), packages: "- {packageName: tills, channels: [{name: only, currentCSV: tills.v2.0.0}]}\n"},
		"good and one more": {packages: packages + "- {packageName: lost, channels: [{name: a, currentCSV: lost.v1}]}\n", want: "lost"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, dir := good(), t.TempDir()
			if c.packages != "" {
				data["packages"] = c.packages
			}
			if c.versions != "" {
				data["clusterServiceVersions"] = c.versions
			}
			if _, err := write(data, dir); err != nil {
				t.Fatal(err)
			}
			read, err := catalog.Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			read.Check()
			problems := read.AllProblems()
			if c.want == "" && len(problems) > 0 || c.want != "" && (len(problems) == 0 || !strings.Contains(problems[0].Error(), c.want)) {
				t.Errorf("the problems are %v, want %q", problems, c.want)
			}
			if tills := read.Package("tills"); name == "good and one more" && (tills == nil || len(tills.Problems) > 0) {
				t.Errorf("the other package is %+v", tills)
			}
		})
	}
}

// Data that is not valid is refused as a whole, with the place of the mistake, and no file is written.
func TestInvalid(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct{ key, value string }{
		"data.packages is missing or empty: want a list of packages": {"packages", " \n"},
		"data.packages: error":                                                                                              {"packages", "{"},
		"data.packages[0].packageName is missing":                                                                           {"packages", "- {channels: []}"},
		"data.clusterServiceVersions: error":                                                                                {"clusterServiceVersions", "a: b"},
		"data.clusterServiceVersions[1]: tills.v1.0.0 is in the list twice":                                                 {"clusterServiceVersions", version("1.0.0", "") + version("1.0.0", "")},
		`data.clusterServiceVersions[0]: it is ConfigMap "a", want a ClusterServiceVersion with a name`:                     {"clusterServiceVersions", "- {kind: ConfigMap, metadata: {name: a}}"},
		`data.customResourceDefinitions[0]: it is CustomResourceDefinition "", want a CustomResourceDefinition with a name`: {"customResourceDefinitions", "- {kind: CustomResourceDefinition}"},
		"data.clusterServiceVersions: tills.v2.0.0: ":                                                                       {"clusterServiceVersions", strings.Replace(version("2.0.0", ""), "version: 2.0.0", "version: two", 1)},
	} {
		data, dir := good(), t.TempDir()
		data[c.key] = c.value
		_, err := write(data, dir)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), os.TempDir()) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// FuzzWrite checks that no data crashes the reader.
func FuzzWrite(f *testing.F) {
	data := good()
	f.Add(data["packages"], data["clusterServiceVersions"], data["customResourceDefinitions"])
	f.Add(packages, version("1.0.0", "tills.v1.0.0"), "")
	f.Add("- {packageName: tills, channels: [{name: a, currentCSV: b}]}", "- {kind: ClusterServiceVersion, metadata: {name: b}, spec: {customresourcedefinitions: {owned: [1]}}}", "[]")
	f.Fuzz(func(t *testing.T, packages, versions, definitions string) {
		_, _ = write(map[string]string{"packages": packages, "clusterServiceVersions": versions, "customResourceDefinitions": definitions}, t.TempDir()) //nolint:errcheck // any error is right
	})
}

func packed(t *testing.T, content string) *corev1.ConfigMap {
	t.Helper()
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	if _, err := writer.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return &corev1.ConfigMap{BinaryData: map[string][]byte{configmap.KeyCatalog: out.Bytes()}}
}

// A file-based catalog is written as it is, unless it is too large or damaged.
func TestFileBasedCatalog(t *testing.T) {
	t.Parallel()
	dir, content := t.TempDir(), `{"schema": "olm.package", "name": "tills", "defaultChannel": "stable"}`
	digest, err := configmap.Write(packed(t, content), dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "catalog.json")); err != nil || string(got) != content {
		t.Errorf("written is %q, %v", got, err)
	}
	if other, err := configmap.Write(packed(t, content+"\n"), t.TempDir()); err != nil || other == digest {
		t.Errorf("another catalog has the digest %s, %v", other, err)
	}
	broken := packed(t, content)
	broken.BinaryData[configmap.KeyCatalog] = broken.BinaryData[configmap.KeyCatalog][:20]
	for want, from := range map[string]*corev1.ConfigMap{
		"binaryData[catalog.json.gz]: it has more than 64 MiB": packed(t, strings.Repeat(" ", 64<<20+1)),
		"binaryData[catalog.json.gz]: unexpected EOF":          broken,
		"binaryData[catalog.json.gz]: gzip: invalid header":    {BinaryData: map[string][]byte{configmap.KeyCatalog: []byte("no archive at all")}},
	} {
		if _, err := configmap.Write(from, t.TempDir()); err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}
