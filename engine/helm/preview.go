package helm

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	release "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Preview is what a chart renders without a cluster.
type Preview struct {
	// Objects contains the objects of the release, in the order in which Helm creates them.
	Objects []*unstructured.Unstructured
	// Hooks contains the objects of the hooks that run: all except those of tests and rollbacks.
	Hooks []*unstructured.Unstructured
	// Reads contains the kinds that the chart looks up.
	Reads []schema.GroupVersionKind
	// Generates reports that the chart calls functions whose results are stored, such as randAlphaNum.
	Generates bool
}

// events contains the events whose hooks run.
var events = []release.HookEvent{
	release.HookPreInstall, release.HookPostInstall, release.HookPreUpgrade, release.HookPostUpgrade, release.HookPreDelete, release.HookPostDelete,
}

// Preview renders the first revision of a release with a name. values override those of the chart. lookup finds nothing.
func (c *Chart) Preview(ctx context.Context, name string, values map[string]any) (*Preview, error) {
	reads, kept := &reads{}, newGenerated(map[string][]byte{})
	r, err := c.render(ctx, input{
		name: name, namespace: "default", revision: 1, values: values, lookup: &lookup{ctx: ctx, reader: reads}, generated: kept,
	})
	if err != nil {
		return nil, err
	}
	p := &Preview{Objects: r.objects, Reads: reads.kinds, Generates: kept.used()}
	for _, hook := range r.hooks {
		if !slices.ContainsFunc(hook.Events, func(e release.HookEvent) bool { return slices.Contains(events, e) }) {
			continue
		}
		objects, err := parse(hook.Manifest)
		if err != nil {
			return nil, c.invalid(err)
		}
		p.Hooks = append(p.Hooks, objects...)
	}
	return p, nil
}

// Values returns a copy of the values of the chart, and the text of values.yaml.
func (c *Chart) Values() (values map[string]any, text []byte) {
	for _, file := range c.loaded.Raw {
		if file.Name == "values.yaml" {
			text = file.Data
		}
	}
	return copyValues(c.loaded.Values), text
}

// Schema returns the text of values.schema.json. It is empty if the chart has none.
func (c *Chart) Schema() []byte { return c.loaded.Schema }

// Files returns the files of the chart, by their paths in it.
func (c *Chart) Files() map[string][]byte {
	files := map[string][]byte{}
	for _, file := range c.loaded.Raw {
		files[file.Name] = file.Data
	}
	return files
}

// paths returns the paths of the files that a program reads from the path of the chart: those that .helmignore does not exclude, or the archive.
func (c *Chart) paths(path string) []string {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return []string{path}
	}
	var all []string
	for name := range c.Files() {
		all = append(all, filepath.Join(path, filepath.FromSlash(name)))
	}
	slices.Sort(all)
	return all
}

// reads is a Reader that finds nothing and records the kinds.
type reads struct{ kinds []schema.GroupVersionKind }

// Get implements Reader. It finds nothing.
func (r *reads) Get(_ context.Context, object client.Object) (bool, error) {
	r.kinds = append(r.kinds, object.GetObjectKind().GroupVersionKind())
	return false, nil
}

// List implements Reader. It finds nothing.
func (r *reads) List(_ context.Context, list client.ObjectList, _ client.MatchingLabels, _ ...client.ListOption) error {
	kind := list.GetObjectKind().GroupVersionKind()
	kind.Kind = kind.Kind[:max(0, len(kind.Kind)-len("List"))]
	r.kinds = append(r.kinds, kind)
	return nil
}
