package store_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/ship/catalog"
	"github.com/operon-framework/operon/internal/ship/catalog/registry"
	"github.com/operon-framework/operon/internal/ship/catalog/store"
	"github.com/operon-framework/operon/internal/testing/testaid"
)

// till has two channels, upgrades of each sort, dependencies, deprecations, and manifests in both forms.
var till = `---
schema: olm.package
name: till
defaultChannel: stable
description: A till.
icon: {base64data: PHN2Zy8+, mediatype: image/svg+xml}
---
schema: olm.channel
package: till
name: stable
entries:
- {name: till.v1.0.0}
- {name: till.v1.1.0, replaces: till.v1.0.0}
- {name: till.v1.2.0, replaces: till.v1.1.0, skips: [till.v1.0.0, till.v0.9.0], skipRange: ">=1.0.0 <1.2.0"}
---
schema: olm.channel
package: till
name: fast
entries:
- {name: till.v1.2.0, skips: [till.v1.1.0]}
---
{schema: olm.bundle, package: till, name: till.v1.0.0, image: "r.example.com/t:1", properties: [{type: olm.package, value: {packageName: till, version: 1.0.0}}]}
---
schema: olm.bundle
package: till
name: till.v1.1.0
image: ""
properties:
- {type: olm.package, value: {packageName: till, version: 1.1.0}}
- {type: olm.gvk, value: {group: shop.example.com, version: v1, kind: Drawer}}
- {type: olm.bundle.object, value: {data: ` + encoded("kind: ClusterServiceVersion\nmetadata: {name: till.v1.1.0}\n") + `}}
- {type: olm.bundle.object, value: {data: ` + encoded(`{"kind": "CustomResourceDefinition"}`) + `}}
---
schema: olm.bundle
package: till
name: till.v1.2.0
image: r.example.com/t:3
relatedImages: [{name: till, image: "r.example.com/till:1.2.0"}]
properties:
- {type: olm.package, value: {packageName: till, version: 1.2.0}}
- {type: olm.gvk, value: {group: shop.example.com, version: v1, kind: Till}}
- {type: olm.gvk.required, value: {group: db.example.com, version: v1, kind: Ledger}}
- {type: olm.package.required, value: {packageName: safe, versionRange: ">=1.0.0 <2.0.0"}}
- {type: tier, value: gold}
- {type: olm.csv.metadata, value: {annotations: {capabilities: Basic Install}, displayName: Till, crdDescriptions: {owned: [{kind: Till}]}, installModes: [{type: AllNamespaces, supported: true}]}}
---
schema: olm.deprecations
package: till
entries:
- {reference: {schema: olm.package}, message: buy a new one}
- {reference: {schema: olm.channel, name: fast}, message: too fast}
- {reference: {schema: olm.bundle, name: till.v1.0.0}, message: it loses coins}
`

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// written writes a catalog to a directory.
func written(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		testaid.Write(t, filepath.Join(dir, name), content)
	}
	return dir
}

func opened(t *testing.T, o store.Options) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func entries(all []*registry.ChannelEntry) []string {
	lines := []string{}
	for _, e := range all {
		lines = append(lines, fmt.Sprintf("%s %s %s %s", e.GetPackageName(), e.GetChannelName(), e.GetBundleName(), e.GetReplaces()))
	}
	return lines
}

func TestQueries(t *testing.T) {
	t.Parallel()
	dir := written(t, map[string]string{"till.yaml": till, "safe.yaml": strings.NewReplacer("till", "safe", "Till", "Safe").Replace(till)})
	s := opened(t, store.Options{Sources: []string{dir}, Dir: t.TempDir()})
	if packages, bundles := s.Size(); packages != 2 || bundles != 6 || len(s.Problems()) != 0 || !slices.Equal(s.PackageNames(), []string{"safe", "till"}) {
		t.Errorf("%d packages, %d bundles, problems %v", packages, bundles, s.Problems())
	}
	p, err := s.Package("till")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := shown(t, p), `{"name":"till","channels":[{"name":"fast","csvName":"till.v1.2.0","deprecation":{"message":"too fast"}},{"name":"stable","csvName":"till.v1.2.0"}],"defaultChannelName":"stable","deprecation":{"message":"buy a new one"}}`; got != want {
		t.Errorf("the package is\n%s\nwant\n%s", got, want)
	}
	kind := func(name string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "shop.example.com", Version: "v1", Kind: name}
	}
	for name, test := range map[string]struct {
		got  func() ([]*registry.ChannelEntry, error)
		want []string
	}{
		"replacing":        {func() ([]*registry.ChannelEntry, error) { return s.Replacing("till.v1.1.0") }, []string{"till fast till.v1.2.0 ", "till stable till.v1.2.0 till.v1.1.0"}},
		"replacing a gone": {func() ([]*registry.ChannelEntry, error) { return s.Replacing("till.v0.9.0") }, []string{"till stable till.v1.2.0 till.v1.1.0"}},
		"providing":        {func() ([]*registry.ChannelEntry, error) { return s.Providing(kind("Till")) }, []string{"till fast till.v1.2.0 ", "till fast till.v1.2.0 till.v1.1.0", "till stable till.v1.2.0 till.v1.1.0", "till stable till.v1.2.0 till.v1.0.0", "till stable till.v1.2.0 till.v0.9.0"}},
		"providing old":    {func() ([]*registry.ChannelEntry, error) { return s.Providing(kind("Drawer")) }, []string{"safe stable safe.v1.1.0 safe.v1.0.0", "till stable till.v1.1.0 till.v1.0.0"}},
		"latest":           {func() ([]*registry.ChannelEntry, error) { return s.LatestProviding(kind("Till")) }, []string{"till fast till.v1.2.0 ", "till stable till.v1.2.0 till.v1.1.0", "till stable till.v1.2.0 till.v1.0.0"}},
	} {
		got, err := test.got()
		if err != nil || !slices.Equal(entries(got), test.want) {
			t.Errorf("%s: %q, %v, want %q", name, entries(got), err, test.want)
		}
	}
	for name, err := range map[string]error{
		`package "door"`:                                                                 second(s.Package("door")),
		`package "till", channel "slow"`:                                                 second(s.Head("till", "slow")),
		`package "till", channel "fast", bundle "till.v1.0.0"`:                           second(s.Bundle("till", "fast", "till.v1.0.0")),
		`package "till", channel "fast", a bundle that replaces ""`:                      second(s.Replacement("", "till", "fast")),
		`a channel entry that replaces "till.v1.2.0"`:                                    second(s.Replacing("till.v1.2.0")),
		`a channel entry that replaces ""`:                                               second(s.Replacing("")),
		`a bundle that provides group "shop.example.com", version "v1", kind "Door"`:     second(s.Providing(kind("Door"))),
		`a bundle that provides group "shop.example.com", version "v1", kind "Drawer"`:   second(s.LatestProviding(kind("Drawer"))),
		`a bundle that provides group "shop.example.com", version "v1", kind "Drawer"  `: second(s.Provider(kind("Drawer"))),
	} {
		if want := strings.TrimSpace(name) + ": not found"; !errors.Is(err, store.ErrNotFound) || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func shown(t *testing.T, message any) string {
	t.Helper()
	out, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestBundles(t *testing.T) {
	t.Parallel()
	dir := written(t, map[string]string{"till.yaml": till})
	s := opened(t, store.Options{Sources: []string{dir}, Dir: t.TempDir()})
	head, err := s.Head("till", "stable")
	if err != nil {
		t.Fatal(err)
	}
	csv := `{"apiVersion":"operators.coreos.com/v1alpha1","kind":"ClusterServiceVersion","metadata":{"annotations":{"capabilities":"Basic Install"},"name":"till.v1.2.0"},"spec":{"customresourcedefinitions":{"owned":[{"kind":"Till"}]},"description":"A till.","displayName":"Till","icon":[{"base64data":"PHN2Zy8+","mediatype":"image/svg+xml"}],"install":{"spec":{"deployments":[]},"strategy":"deployment"},"installModes":[{"supported":true,"type":"AllNamespaces"}],"relatedImages":[{"name":"till","image":"r.example.com/till:1.2.0"}],"version":"1.2.0"}}`
	if head.GetCsvJson() != csv || !slices.Equal(head.GetObject(), []string{csv}) {
		t.Errorf("the CSV is %s and %q, want %s", head.GetCsvJson(), head.GetObject(), csv)
	}
	head.CsvJson, head.Object = "", nil
	rest := `{"csvName":"till.v1.2.0","packageName":"till","channelName":"stable","bundlePath":"r.example.com/t:3","providedApis":[{"group":"shop.example.com","version":"v1","kind":"Till"}],"requiredApis":[{"group":"db.example.com","version":"v1","kind":"Ledger"}],"version":"1.2.0","skipRange":"\u003e=1.0.0 \u003c1.2.0","dependencies":[{"type":"olm.gvk","value":"{\"group\":\"db.example.com\",\"kind\":\"Ledger\",\"version\":\"v1\"}"},{"type":"olm.package","value":"{\"packageName\":\"safe\",\"version\":\"\u003e=1.0.0 \u003c2.0.0\"}"}],"properties":[{"type":"olm.package","value":"{\"packageName\":\"till\",\"version\":\"1.2.0\"}"},{"type":"olm.gvk","value":"{\"group\":\"shop.example.com\",\"kind\":\"Till\",\"version\":\"v1\"}"},{"type":"olm.gvk.required","value":"{\"group\":\"db.example.com\",\"kind\":\"Ledger\",\"version\":\"v1\"}"},{"type":"olm.package.required","value":"{\"packageName\":\"safe\",\"versionRange\":\"\\u003e=1.0.0 \\u003c2.0.0\"}"},{"type":"tier","value":"\"gold\""}]}`
	if got := shown(t, head); got != rest {
		t.Errorf("the bundle is\n%s\nwant\n%s", got, rest)
	}
	inside, err := s.Replacement("till.v1.0.0", "till", "stable")
	if err != nil || inside.GetCsvName() != "till.v1.1.0" || len(inside.GetObject()) != 2 || inside.GetCsvJson() != `{"kind":"ClusterServiceVersion","metadata":{"name":"till.v1.1.0"}}` {
		t.Errorf("the bundle with manifests is %v, %v", inside, err)
	}
	skipping, err := s.Replacement("till.v0.9.0", "till", "stable")
	if err != nil || skipping.GetCsvName() != "till.v1.2.0" {
		t.Errorf("the bundle that skips is %v, %v", skipping, err)
	}
	old, err := s.Bundle("till", "stable", "till.v1.0.0")
	if err != nil || old.GetDeprecation().GetMessage() != "it loses coins" {
		t.Errorf("the deprecated bundle is %v, %v", old, err)
	}
	provider, err := s.Provider(schema.GroupVersionKind{Group: "shop.example.com", Version: "v1", Kind: "Till"})
	if err != nil || provider.GetCsvName() != "till.v1.2.0" || provider.GetChannelName() != "stable" || provider.GetCsvJson() != csv {
		t.Errorf("the provider is %v, %v", provider, err)
	}
	var listed []string
	if err := s.List(t.Context(), func(b *registry.Bundle) error {
		listed = append(listed, fmt.Sprintf("%s %s %q %v %d", b.GetChannelName(), b.GetCsvName(), b.GetReplaces(), b.GetSkips(), len(b.GetObject())))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{`fast till.v1.2.0 "" [till.v1.1.0] 0`, `stable till.v1.0.0 "" [] 0`, `stable till.v1.1.0 "till.v1.0.0" [] 2`, `stable till.v1.2.0 "till.v1.1.0" [till.v1.0.0 till.v0.9.0] 0`}
	if !slices.Equal(listed, want) {
		t.Errorf("the list is %q, want %q", listed, want)
	}
}

// The JSON lines are the catalog: what they say when they are read again, with unknown objects and fields.
func TestLines(t *testing.T) {
	t.Parallel()
	dir := written(t, map[string]string{"a.yaml": till + "---\n{schema: notes, package: till, text: hello, name: a}\n---\n{schema: notes, text: alone}\n---\n{schema: notes, package: gone}\n---\n{schema: other}\n"})
	s := opened(t, store.Options{Sources: []string{dir}, Dir: t.TempDir()})
	lines := func(f store.Filter) string {
		var out bytes.Buffer
		if err := s.WriteLines(&out, f); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	whole := lines(store.Filter{})
	if int64(len(whole)) != s.LinesSize() || strings.Count(whole, "\n") != 11 {
		t.Errorf("the catalog has %d bytes and the lines\n%s", s.LinesSize(), whole)
	}
	again := written(t, map[string]string{"catalog.json": whole})
	if got := opened(t, store.Options{Sources: []string{again}, Dir: t.TempDir()}); len(got.Problems()) != 0 || got.LinesSize() != s.LinesSize() {
		t.Errorf("the lines are another catalog: %v", got.Problems())
	}
	for f, want := range map[store.Filter]int{
		{Schema: "olm.package"}: 1, {Schema: "olm.bundle", Package: "till"}: 3, {Package: "till"}: 7, {Name: "till.v1.0.0"}: 1, {Schema: "notes"}: 3,
		{Schema: "olm.bundle", Name: "till"}: 0, {Package: "gone"}: 1, {Package: "none"}: 0, {Schema: "olm.package", Name: "till"}: 1,
	} {
		if got := strings.Count(lines(f), "\n"); got != want {
			t.Errorf("%+v: %d lines, want %d", f, got, want)
		}
	}
}

// A package with a problem is left out and named. The others are served.
func TestBrokenPackages(t *testing.T) {
	t.Parallel()
	safe := strings.NewReplacer("till", "safe", "Till", "Safe").Replace(till)
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"syntax":      {map[string]string{"a.yaml": strings.Replace(till, "entries:\n- {name: till.v1.0.0}", "entries: {{", 1) + safe}, "package till: not valid YAML"},
		"head":        {map[string]string{"a.yaml": strings.Replace(till, "replaces: till.v1.1.0, skips", "skips", 1) + safe}, "has 2 heads, want 1"},
		"twice":       {map[string]string{"a.yaml": till, "b.yaml": till, "c.yaml": safe}, "the package is also in"},
		"manifest":    {map[string]string{"a.yaml": strings.Replace(till, encoded(`{"kind": "CustomResourceDefinition"}`), encoded("{{"), 1) + safe}, "bundle till.v1.1.0: properties[3], olm.bundle.object: "},
		"no manifest": {map[string]string{"a.yaml": strings.Replace(till, encoded(`{"kind": "CustomResourceDefinition"}`), "5", 1) + safe}, "bundle till.v1.1.0: properties[3], olm.bundle.object: "},
		"metadata":    {map[string]string{"a.yaml": strings.Replace(till, "type: olm.csv.metadata, value: {", "type: olm.csv.metadata, value: []}\n- {type: x, value: {", 1) + safe}, "bundle till.v1.2.0: properties[5], olm.csv.metadata: "},
		"huge":        {map[string]string{"a.yaml": safe, "b.yaml": "huge"}, "the file has more than 512 MiB"},
		"cut off":     {map[string]string{"a.yaml": safe, "b.json": `{"schema": "olm.package", "name": "till"}{`}, "the rest of the file is not read"},
	} {
		dir := written(t, test.files)
		if name == "huge" {
			if err := os.Truncate(filepath.Join(dir, "b.yaml"), 2<<30); err != nil {
				t.Fatal(err)
			}
		}
		s := opened(t, store.Options{Sources: []string{dir}, Dir: t.TempDir()})
		if !slices.Equal(s.PackageNames(), []string{"safe"}) {
			t.Errorf("%s: the packages are %q", name, s.PackageNames())
		}
		if !slices.ContainsFunc(s.Problems(), func(p catalog.Problem) bool { return strings.Contains(p.Error(), test.want) }) {
			t.Errorf("%s: the problems are %v, want %s", name, s.Problems(), test.want)
		}
		if _, err := s.Head("safe", "stable"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := s.Head("till", "stable"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: the broken package is served: %v", name, err)
		}
	}
}

// A link is not followed, so that a catalog cannot show files from elsewhere.
func TestLinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	outside := written(t, map[string]string{"safe.yaml": strings.NewReplacer("till", "safe", "Till", "Safe").Replace(till)})
	dir := written(t, map[string]string{"till.yaml": till})
	for name, to := range map[string]string{"file.yaml": filepath.Join(outside, "safe.yaml"), "dir": outside} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if s := opened(t, store.Options{Sources: []string{dir}, Dir: t.TempDir()}); !slices.Equal(s.PackageNames(), []string{"till"}) {
		t.Errorf("the packages are %q", s.PackageNames())
	}
}

// Several sources are one catalog. A package in two of them is a problem of it.
func TestSources(t *testing.T) {
	t.Parallel()
	dir := written(t, map[string]string{"till.yaml": till})
	other := written(t, map[string]string{"safe.yaml": strings.NewReplacer("till", "safe", "Till", "Safe").Replace(till), "till.yaml": till})
	both := []string{dir, filepath.Join(other, "safe.yaml")}
	if s := opened(t, store.Options{Sources: both, Dir: t.TempDir()}); len(s.Problems()) > 0 || !slices.Equal(s.PackageNames(), []string{"safe", "till"}) {
		t.Errorf("the packages are %q, problems %v", s.PackageNames(), s.Problems())
	}
	if s := opened(t, store.Options{Sources: []string{dir, other}, Dir: t.TempDir()}); !slices.Equal(s.LeftOut(), []string{"till"}) || !slices.Equal(s.PackageNames(), []string{"safe"}) {
		t.Errorf("left out are %q, problems %v", s.LeftOut(), s.Problems())
	}
}

func TestOpenRejects(t *testing.T) {
	t.Parallel()
	if _, err := store.Open(t.Context(), store.Options{Sources: []string{t.TempDir()}, Dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "has no catalog in it") {
		t.Errorf("the error is %v", err)
	}
	if _, err := store.Open(t.Context(), store.Options{Sources: []string{"/nowhere"}, Dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "there is no directory or file /nowhere") {
		t.Errorf("the error is %v", err)
	}
}

// times returns when the files of a cache were written.
func times(t *testing.T, dir string) map[string]time.Time {
	t.Helper()
	found := map[string]time.Time{}
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		info, err := one.Info()
		if err != nil {
			t.Fatal(err)
		}
		found[one.Name()] = info.ModTime()
	}
	return found
}

// An unchanged catalog keeps its cache, also if its files are copied. A changed file gets another one, even with the same size and time.
func TestCacheIsRebuiltWhenFilesChange(t *testing.T) {
	t.Parallel()
	dir, cache := written(t, map[string]string{"till.yaml": till}), t.TempDir()
	o := store.Options{Sources: []string{dir}, Dir: cache}
	first := opened(t, o)
	built := times(t, cache)
	if len(built) != 3 {
		t.Fatalf("the cache has %v", built)
	}
	opened(t, o)
	if got := times(t, cache); !sameTimes(got, built) {
		t.Errorf("the cache was rebuilt: %v, %v", got, built)
	}
	file := filepath.Join(dir, "till.yaml")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	testaid.Write(t, file, till)
	if changed, err := first.Changed(); err != nil || !changed {
		t.Errorf("a new file is not a change: %v", err)
	}
	again := opened(t, o)
	got := times(t, cache)
	delete(got, "inputs.json")
	delete(built, "inputs.json")
	if !sameTimes(got, built) || again.Digest() != first.Digest() {
		t.Errorf("the cache was rebuilt for a copy: %v, %v", got, built)
	}
	if changed, err := again.Changed(); err != nil || changed {
		t.Errorf("the copy is a change: %v", err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	testaid.Write(t, file, strings.ReplaceAll(till, "too fast", "too slow"))
	if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	newer := opened(t, o)
	p, err := newer.Package("till")
	if err != nil || p.GetChannels()[0].GetDeprecation().GetMessage() != "too slow" {
		t.Errorf("the package is %v, %v", p, err)
	}
	if len(times(t, cache)) != 3 {
		t.Errorf("the older cache stays: %v", times(t, cache))
	}
	if p, err := first.Package("till"); err != nil || p.GetChannels()[0].GetDeprecation().GetMessage() != "too fast" {
		t.Errorf("the older store is not usable any more: %v, %v", p, err)
	}
}

// single returns the only file of a directory with a pattern.
func single(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %q, %v", pattern, found, err)
	}
	return found[0]
}

func sameTimes(a, b map[string]time.Time) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// A cache that was damaged is built again, and damage that is found later is an error of the query.
func TestCorruptCaches(t *testing.T) {
	t.Parallel()
	dir := written(t, map[string]string{"till.yaml": till})
	for name, damage := range map[string]func([]byte) []byte{
		"empty":     func([]byte) []byte { return nil },
		"cut off":   func(content []byte) []byte { return content[:len(content)/2] },
		"index":     func(content []byte) []byte { content[len(content)-100] ^= 1; return content },
		"longer":    func(content []byte) []byte { return append(content, 'x') },
		"not JSON":  func([]byte) []byte { return []byte("hello") },
		"all zeros": func(content []byte) []byte { return make([]byte, len(content)) },
	} {
		for _, pattern := range []string{"*.cache", "*.jsonl", "inputs.json"} {
			cache := t.TempDir()
			o := store.Options{Sources: []string{dir}, Dir: cache}
			opened(t, o)
			file := single(t, cache, pattern)
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			damaged := damage(bytes.Clone(content))
			if err := os.WriteFile(file, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			s := opened(t, o)
			if _, err := s.Head("till", "stable"); err != nil {
				t.Errorf("%s %s: %v", name, pattern, err)
			}
			repaired, err := os.ReadFile(file)
			if err != nil || pattern != "*.jsonl" && bytes.Equal(repaired, damaged) {
				t.Errorf("%s %s: the file is not repaired: %v", name, pattern, err)
			}
		}
	}
}

func TestDamageIsFoundByQueries(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	o := store.Options{Sources: []string{written(t, map[string]string{"till.yaml": till})}, Dir: cache}
	s := opened(t, o)
	for _, pattern := range []string{"*.cache", "*.jsonl"} {
		file := single(t, cache, pattern)
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		content[10] ^= 1
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Bundle("till", "stable", "till.v1.0.0"); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("the error of a bundle is %v", err)
	}
	for _, f := range []store.Filter{{}, {Package: "till"}, {Schema: "olm.package"}} {
		if err := s.WriteLines(&bytes.Buffer{}, f); f.Package == "" && !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("the error of the lines %+v is %v", f, err)
		}
	}
	o.Rebuild = true
	if _, err := opened(t, o).Bundle("till", "stable", "till.v1.0.0"); err != nil {
		t.Errorf("after a rebuild: %v", err)
	}
}

// Whatever is in a cache, opening it and queries return an answer or an error.
func FuzzCache(f *testing.F) {
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "till.yaml"), []byte(till), 0o600); err != nil {
		f.Fatal(err)
	}
	f.Add(uint(0), byte(1))
	f.Add(uint(5000), byte(255))
	f.Add(uint(1), byte(7))
	f.Fuzz(func(t *testing.T, at uint, flip byte) {
		cache := t.TempDir()
		o := store.Options{Sources: []string{dir}, Dir: cache}
		opened(t, o)
		file := single(t, cache, "*.cache")
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		content[at%uint(len(content))] ^= flip
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		s := opened(t, o)
		want := `"csvName":"till.v1.2.0"`
		if head, err := s.Head("till", "stable"); err == nil && !strings.Contains(shown(t, head), want) || err != nil && !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("the head is %v, %v", head, err)
		}
		if err := s.List(t.Context(), func(*registry.Bundle) error { return nil }); err != nil && !errors.Is(err, store.ErrCorrupt) {
			t.Error(err)
		}
	})
}
