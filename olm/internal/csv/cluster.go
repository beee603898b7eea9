package csv

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	coreplan "github.com/operon-framework/operon/internal/core/plan"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/render"
	"github.com/operon-framework/operon/olm/internal/installplan"
	"github.com/operon-framework/operon/olm/internal/plan"
)

// clusterKinds are the kinds of cluster-scoped objects that plans write from bundles. Garbage collection does not delete them with a
// ClusterServiceVersion.
var clusterKinds = []schema.GroupVersionKind{
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"},
	{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"},
	{Group: "console.openshift.io", Version: "v1", Kind: "ConsoleCLIDownload"},
	{Group: "console.openshift.io", Version: "v1", Kind: "ConsoleLink"},
	{Group: "console.openshift.io", Version: "v1", Kind: "ConsolePlugin"},
	{Group: "console.openshift.io", Version: "v1", Kind: "ConsoleQuickStart"},
	{Group: "console.openshift.io", Version: "v1", Kind: "ConsoleYAMLSample"},
}

// clusterScoped makes the cluster-scoped objects that a plan wrote for the version its children, as they are, so that they are deleted with
// it. Only administrators of the cluster can create such objects. Those that the next version has too are left behind for its plan, but not
// before the plan writes them. Those that the version before had are adopted when that is gone: until then it needs them, and gets them back
// if the upgrade is given up.
func (n *neighbors) clusterScoped(ctx context.Context, out *operon.Composition, p *pass) error {
	own := n.labels()
	declared := map[string]bool{}
	for _, child := range out.Children() {
		declared[child.GetObjectKind().GroupVersionKind().Kind+"/"+child.GetName()] = true
	}
	next, err := n.nextSteps(ctx, out)
	if err != nil {
		return err
	}
	for _, kind := range clusterKinds {
		lacks, err := plan.Lacks(ctx, out, kind)
		if err != nil {
			return err
		}
		if lacks != "" {
			continue
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind + "List"})
		// +operon:kind:group=rbac.authorization.k8s.io,resource=clusterroles
		if err := out.List(ctx, list, own, client.InNamespace(metav1.NamespaceAll)); err != nil {
			return err
		}
		for i := range list.Items {
			if key := kind.Kind + "/" + list.Items[i].GetName(); !declared[key] && !p.isDouble(&list.Items[i]) {
				n.keep(out, &list.Items[i], next[key])
			}
		}
	}
	return nil
}

// keep declares a cluster-scoped object of the version as it is. next means that the plan of the next version writes it.
func (n *neighbors) keep(out *operon.Composition, live *unstructured.Unstructured, next bool) {
	switch owner := live.GetLabels()[coreplan.OwnerLabel]; {
	case owner != "" && owner != string(n.csv.UID): // while a plan writes it, it belongs to the plan
	case owner == "" && n.before != nil && live.GetAnnotations()[render.AnnotationTakenFrom] == n.before.Name:
	case !next:
		out.Child(content(live), operon.Adopt())
	case owner != "" && live.GetAnnotations()[coreplan.RemovalAnnotation] != coreplan.RemovalOrphan:
		out.Child(content(live), operon.Orphan())
	}
}

// nextSteps returns the objects that plans of the version that replaces this one write now, as Kind/name, and those that a plan writes again
// for this one after a rollback.
func (n *neighbors) nextSteps(ctx context.Context, out *operon.Composition) (map[string]bool, error) {
	names := map[string]bool{}
	for _, of := range []*v1alpha1.ClusterServiceVersion{n.csv, n.after} {
		if of == nil {
			continue
		}
		plans, err := installplan.Of(ctx, out, of.Namespace, of.Name)
		if err != nil {
			return nil, err
		}
		for i := range plans {
			one := &plans[i]
			if installplan.Held(one) || of == n.csv && one.Annotations[installplan.AnnotationRestores] == "" || !one.Spec.Approved || one.Status.Phase != v1alpha1.PlanInstalling {
				continue
			}
			for _, step := range one.Status.Plan {
				if step.Resolving == of.Name {
					names[step.Resource.Kind+"/"+step.Resource.Name] = true
				}
			}
		}
	}
	return names, nil
}

// content returns an object without what the API server and the manager add to it, apart from its version: a stale cache must not take an
// object back that a plan has written for another version of the operator.
func content(live *unstructured.Unstructured) *unstructured.Unstructured {
	copied := live.DeepCopy()
	delete(copied.Object, "status")
	if _, aggregated := copied.Object["aggregationRule"]; aggregated {
		delete(copied.Object, "rules") // a controller of Kubernetes writes them
	}
	meta := map[string]any{"name": live.GetName(), "resourceVersion": live.GetResourceVersion()}
	labels := map[string]any{}
	for key, value := range live.GetLabels() {
		if key != coreplan.OwnerLabel && key != "applyset.kubernetes.io/part-of" {
			labels[key] = value
		}
	}
	meta["labels"] = labels
	copied.Object["metadata"] = meta
	return copied
}
