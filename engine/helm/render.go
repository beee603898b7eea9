package helm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	valuesutil "helm.sh/helm/v4/pkg/chart/common/util"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	release "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/operon-framework/operon"
)

// Reasons of the Ready condition when a chart cannot be rendered.
const (
	// ReasonChartError: a template failed, or its result is not an object.
	ReasonChartError = "ChartError"
	// ReasonInvalidValues: the schema of the chart rejects the values, or the spec is not an object.
	ReasonInvalidValues = "InvalidValues"
	// ReasonUnboundedLookup: the chart looks up all objects of a kind.
	ReasonUnboundedLookup = "UnboundedLookup"
	// ReasonForbiddenLookup: the chart looks up an object outside of its namespace that watches.yaml does not allow.
	ReasonForbiddenLookup = "ForbiddenLookup"
	// ReasonInvalidReleaseName: the object's name cannot be the name of a release.
	ReasonInvalidReleaseName = "InvalidReleaseName"
)

// input is the input for rendering a chart.
type input struct {
	name, namespace string
	revision        int64
	values          map[string]any
	capabilities    *common.Capabilities // nil: the defaults of Helm
	lookup          *lookup
	generated       *generated
}

// rendered is the result of rendering a chart.
type rendered struct {
	// objects in the order in which Helm creates them.
	objects []*unstructured.Unstructured
	hooks   []*release.Hook
	notes   string
	// manifests are the texts from which objects were read, and values those that were passed to the chart.
	manifests []releaseutil.Manifest
	values    map[string]any
	// secret reports which of the manifests have a Secret, which can be in a list.
	secret []bool
	// manifest is the text of the objects, without the data of Secrets.
	manifest string
	// digest identifies objects and hooks.
	digest   string
	revision int64
}

// render renders the chart. An error that only another chart or other values can resolve is terminal.
func (c *Chart) render(ctx context.Context, in input) (*rendered, error) {
	files, err := c.execute(ctx, in)
	if in.lookup.failed != nil {
		return nil, fmt.Errorf("chart %s: lookup: %w", c.Name(), in.lookup.failed)
	}
	if err != nil {
		return nil, err
	}
	r := &rendered{revision: in.revision, values: in.values}
	for file := range files {
		switch {
		case path.Base(file) == "NOTES.txt":
			if file == path.Join(c.loaded.ChartFullPath(), "templates", "NOTES.txt") {
				r.notes = strings.TrimSpace(files[file])
			}
			delete(files, file)
		case !strings.Contains(file, "/templates/"):
			delete(files, file)
		}
	}
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return nil, c.invalid(err)
	}
	r.hooks, r.manifests = hooks, manifests
	slices.SortStableFunc(r.hooks, func(a, b *release.Hook) int { return a.Weight - b.Weight }) // the digest depends on this order; hooksOf has that of Helm
	for _, manifest := range manifests {
		objects, err := parse(manifest.Content)
		if err != nil {
			return nil, c.invalid(fmt.Errorf("%s: %w", manifest.Name, err))
		}
		r.objects = append(r.objects, objects...)
		r.secret = append(r.secret, slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Secret" }))
	}
	r.describe()
	return r, nil
}

// execute runs the templates.
func (c *Chart) execute(ctx context.Context, in input) (map[string]string, error) {
	chart, values := fork(c.loaded), copyValues(in.values)
	if err := chartutil.ProcessDependencies(chart, values); err != nil {
		return nil, c.invalid(err)
	}
	options := common.ReleaseOptions{
		Name: in.name, Namespace: in.namespace, Revision: int(in.revision), IsInstall: in.revision <= 1, IsUpgrade: in.revision > 1,
	}
	top, err := valuesutil.ToRenderValues(chart, values, options, in.capabilities)
	if err != nil {
		return nil, operon.TerminalError(ReasonInvalidValues, fmt.Errorf("chart %s: %s", c.Name(), oneLine(err)))
	}
	in.generated.know(c.loaded, c.loaded.ChartFullPath())
	in.generated.mark(chart)
	functions := in.generated.functions()
	functions["lookup"] = in.lookup.find
	files, err := engine.Engine{CustomTemplateFuncs: functions}.RenderWithContext(ctx, chart, top)
	if err != nil {
		return nil, c.invalid(err)
	}
	return files, nil
}

// fits returns an error if the chart requires another version of Kubernetes.
func (c *Chart) fits(cluster *common.Capabilities) error {
	want := c.loaded.Metadata.KubeVersion
	if want == "" || cluster == nil || chartutil.IsCompatibleRange(want, cluster.KubeVersion.String()) {
		return nil
	}
	return c.invalid(fmt.Errorf("its kubeVersion is %s, and the version of the cluster is %s: use a version of the chart for this cluster", want, cluster.KubeVersion.String()))
}

// invalid returns the error for a chart that cannot be rendered with these values.
func (c *Chart) invalid(err error) error {
	return operon.TerminalError(ReasonChartError, fmt.Errorf("chart %s: %s", c.Name(), oneLine(err)))
}

// oneLine returns the text of an error without line breaks.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// parse reads the objects of one YAML document. Lists are split into their items.
func parse(document string) ([]*unstructured.Unstructured, error) {
	content, err := yaml.ToJSON([]byte(document))
	if err != nil {
		return nil, fmt.Errorf("not valid YAML: %w", err)
	}
	if string(content) == "null" {
		return nil, nil
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(content); err != nil {
		return nil, fmt.Errorf("not a Kubernetes object: %w", err)
	}
	if object.GetAPIVersion() == "" {
		return nil, fmt.Errorf("%s has no apiVersion", object.GetKind())
	}
	if !object.IsList() {
		if object.GetName() == "" {
			return nil, fmt.Errorf("%s has no metadata.name", object.GetKind())
		}
		return []*unstructured.Unstructured{object}, nil
	}
	var objects []*unstructured.Unstructured
	err = object.EachListItem(func(item runtime.Object) error {
		element, ok := item.(*unstructured.Unstructured)
		if !ok || element.GetKind() == "" || element.GetName() == "" {
			return errors.New("an element of the list has no kind or no name")
		}
		objects = append(objects, element)
		return nil
	})
	return objects, err
}

// describe sets the manifest and the digest.
func (r *rendered) describe() {
	sum := sha256.New()
	for _, manifest := range r.manifests {
		fmt.Fprintf(sum, "%s\x00%s\x00", manifest.Name, strings.TrimSpace(manifest.Content))
	}
	for _, hook := range r.hooks {
		fmt.Fprintf(sum, "%s\x00%s\x00", hook.Path, hook.Manifest)
	}
	r.manifest, r.digest = r.text(true), hex.EncodeToString(sum.Sum(nil)[:16])
}

// text returns the text of the objects, with or without Secrets.
func (r *rendered) text(hideSecrets bool) string {
	var text strings.Builder
	for i, manifest := range r.manifests {
		content := strings.TrimSpace(manifest.Content)
		if hideSecrets && r.secret[i] {
			content = "# a Secret, which is not shown"
		}
		fmt.Fprintf(&text, "---\n# Source: %s\n%s\n", manifest.Name, content)
	}
	return text.String()
}

// merge returns the values of several sources. Later sources take precedence.
func merge(sources ...map[string]any) map[string]any {
	merged := map[string]any{}
	for _, source := range sources {
		for key, value := range source {
			below, isMap := value.(map[string]any)
			above, hasMap := merged[key].(map[string]any)
			if isMap && hasMap {
				value = merge(above, below)
			}
			merged[key] = value
		}
	}
	return merged
}
