package helm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"helm.sh/helm/v4/pkg/chart/common"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/engine"
)

// Labels and annotations that Helm and its operator set on children.
const (
	chartLabel           = "helm.sdk.operatorframework.io/chart"
	managedByLabel       = "app.kubernetes.io/managed-by"
	releaseAnnotation    = "meta.helm.sh/release-name"
	releaseNSAnnotation  = "meta.helm.sh/release-namespace"
	policyAnnotation     = "helm.sh/resource-policy"
	annotationPrefix     = "helm.sdk.operatorframework.io/"
	forceAnnotation      = annotationPrefix + "upgrade-force"
	periodAnnotation     = annotationPrefix + "reconcile-period"
	reasonValuesMissing  = "ValuesMissing"
	reasonHooks          = "HooksRunning"
	reasonOverrides      = "OverrideValuesInUse"
	reasonPeriod         = "InvalidReconcilePeriod"
	generatedNameEnd     = "-generated"
	maxReleaseNameLength = 53
)

// composer creates the children of objects from a chart.
type composer struct {
	chart     *Chart
	watch     *engine.Watch
	overrides overrides
	sources   []source
	reach     reach
	cluster   *cluster
	// storage stores the releases as Helm does. It is nil if they are not stored.
	storage *storage
	// hideOverrides keeps the values of overrides out of events.
	hideOverrides bool

	mu     sync.Mutex
	passes map[types.UID]*pass
}

// cluster is the information about the cluster that a chart can use. It is set before the operator starts.
type cluster struct {
	mapper       meta.RESTMapper
	capabilities *common.Capabilities
}

// pass contains the data about an object within one reconcile.
type pass struct {
	rendered *rendered
	// blocked is the reason why the hooks that run first are not done.
	blocked string
	// declared are the names and statuses of the release Secrets that were declared.
	declared map[string]string
	// more means that hooks follow when all objects are applied.
	more bool
}

// begin returns the pass of an object, which ends with Observe.
func (c *composer) begin(object *engine.Object) *pass {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.passes[object.UID]
	if p == nil {
		p = &pass{}
		c.passes[object.UID] = p
	}
	return p
}

func (c *composer) end(object *engine.Object) *pass {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.passes[object.UID]
	delete(c.passes, object.UID)
	return p
}

// Compose implements operon.Composer.
func (c *composer) Compose(ctx context.Context, object *engine.Object, out *operon.Composition) error {
	p := c.begin(object)
	r, err := c.release(ctx, object, out, func(generate func(map[string][]byte)) error {
		return out.GeneratedSecret(ctx, c.secret(object), generate)
	})
	if missing := (*missingError)(nil); errors.As(err, &missing) {
		out.Wait(reasonValuesMissing, missing.text)
		return nil
	}
	if err != nil {
		return err
	}
	c.schedule(object, out)
	if p.blocked != "" {
		out.Wait(reasonHooks, p.blocked)
		return nil
	}
	p.rendered = r
	adopted, err := earlier(object)
	if err != nil {
		out.Warning(ReasonChartError, fmt.Sprintf("the manifest of the earlier operator cannot be read: %v", err))
	}
	if ok, err := c.store(ctx, object, p, out); !ok {
		return err
	}
	for _, rendered := range r.objects {
		options := optionsOf(object, rendered)
		if adopted[keyOf(rendered)] {
			options = append(options, operon.Adopt())
		}
		mark(rendered, object, c.chart.Name())
		out.Child(rendered, options...)
	}
	if changed(object, r) {
		if skipped := c.skippedHooks(r); len(skipped) > 0 {
			out.Warning(ReasonChartError, fmt.Sprintf("hooks are skipped (%s): neither a template nor the default values of the chart show that it has them", strings.Join(skipped, ", ")))
		}
		for key, value := range c.overrides {
			shown := fmt.Sprintf(" to %q", value)
			if c.hideOverrides {
				shown = ""
			}
			out.Warning(reasonOverrides, fmt.Sprintf("Chart value %q is overridden%s by the operator's watches.yaml", key, shown))
		}
	}
	return nil
}

// schedule reconciles the object again after its period, if it has one.
func (c *composer) schedule(object *engine.Object, out *operon.Composition) {
	period := c.watch.ReconcilePeriod
	if text := object.Annotations[periodAnnotation]; text != "" {
		parsed, err := c.watch.Period(text)
		if err != nil {
			out.Warning(reasonPeriod, fmt.Sprintf("the annotation %s is ignored: %v", periodAnnotation, err))
		} else {
			period = parsed
		}
	}
	if period > 0 {
		out.RequeueAfter(period)
	}
}

// secret returns the Secret with the results of the chart's random functions for an object.
func (c *composer) secret(object *engine.Object) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name: operon.Name(253, object.Name, strings.ToLower(c.watch.Kind.Kind)+generatedNameEnd), Namespace: object.Namespace,
	}}
}

// release renders the chart for an object, in the revision that its status records, or in the next one if the result differs.
// store stores the results of random functions. Nothing is stored if the chart calls none.
func (c *composer) release(ctx context.Context, object *engine.Object, reader Reader, store func(generate func(map[string][]byte)) error) (*rendered, error) {
	if err := chartutil.ValidateReleaseName(object.Name); err != nil {
		return nil, operon.TerminalError(ReasonInvalidReleaseName, fmt.Errorf("the name %q cannot be the name of a Helm release: it may have %d characters, letters, digits and hyphens", object.Name, maxReleaseNameLength))
	}
	if object.DeletionTimestamp == nil { // a chart for another cluster can still be uninstalled
		if err := c.chart.fits(c.cluster.capabilities); err != nil {
			return nil, err
		}
	}
	values, err := c.values(ctx, object, reader)
	if err != nil {
		return nil, err
	}
	revision, next, err := c.revisionOf(ctx, object, reader)
	if err != nil {
		return nil, err
	}
	render := func(kept *generated) (*rendered, error) {
		in := input{
			name: object.Name, namespace: object.Namespace, revision: revision, values: values,
			lookup:    &lookup{ctx: ctx, reader: reader, mapper: c.cluster.mapper, namespace: object.Namespace, reach: c.reach},
			generated: kept, capabilities: c.cluster.capabilities,
		}
		r, err := c.chart.render(ctx, in)
		if err != nil || next == revision || !changed(object, r) {
			return r, err
		}
		in.revision, in.generated = next, newGenerated(kept.data)
		return c.chart.render(ctx, in)
	}
	without := trial()
	r, err := render(without)
	if !without.used() {
		return r, err
	}
	if failed := store(func(data map[string][]byte) { r, err = render(newGenerated(data)) }); failed != nil {
		return nil, failed
	}
	return r, err
}

// values returns the values of a release: from Secrets and ConfigMaps, from the spec and from the overrides. Later values
// take precedence.
func (c *composer) values(ctx context.Context, object *engine.Object, reader Reader) (map[string]any, error) {
	var sources []map[string]any
	for _, source := range c.sources {
		values, err := source.read(ctx, object.Name, reader)
		if err != nil {
			return nil, err
		}
		sources = append(sources, values)
	}
	spec, err := specOf(object)
	if err != nil {
		return nil, err
	}
	overridden, err := c.overrides.values()
	return merge(append(sources, spec, overridden)...), err
}

// changed reports whether the rendered result differs from the one that the status records. A release of an earlier operator
// does not count as a change.
func changed(object *engine.Object, r *rendered) bool {
	recorded := object.Status.DeployedRelease
	return recorded == nil || recorded.Digest != "" && recorded.Digest != r.digest
}

// optionsOf returns the options of a child.
func optionsOf(object *engine.Object, rendered *unstructured.Unstructured) []operon.ChildOption {
	var options []operon.ChildOption
	kept := isKept(rendered)
	if kept {
		options = append(options, operon.Orphan())
	}
	if object.Annotations[forceAnnotation] == "true" && !kept && !slices.Contains(irreplaceable, rendered.GetKind()) {
		options = append(options, operon.Replace())
	}
	return options
}

// irreplaceable are the kinds whose objects are not deleted and created again because a field cannot be changed: data or other objects would be
// deleted with them.
var irreplaceable = []string{"PersistentVolumeClaim", "PersistentVolume", "Namespace", "CustomResourceDefinition"}

// isKept reports whether an object stays when its release is deleted.
func isKept(rendered *unstructured.Unstructured) bool {
	return strings.EqualFold(strings.TrimSpace(rendered.GetAnnotations()[policyAnnotation]), "keep")
}

// mark sets the labels and annotations by which Helm recognizes the objects of a release.
func mark(rendered *unstructured.Unstructured, object *engine.Object, chart string) {
	labels, annotations := rendered.GetLabels(), rendered.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	labels[chartLabel], labels[managedByLabel] = chart, "Helm"
	annotations[releaseAnnotation], annotations[releaseNSAnnotation] = object.Name, object.Namespace
	rendered.SetLabels(labels)
	rendered.SetAnnotations(annotations)
}
