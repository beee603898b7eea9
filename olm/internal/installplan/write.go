package installplan

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	coreplan "github.com/operon-framework/operon/internal/core/plan"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	v2 "github.com/operon-framework/operon/internal/olm/api/v2"
	"github.com/operon-framework/operon/internal/olm/phase"
	"github.com/operon-framework/operon/internal/olm/render"
	"github.com/operon-framework/operon/olm/internal/plan"
)

const kindCSV = "ClusterServiceVersion"

// writing is the state of a plan that writes the objects of a bundle.
type writing struct {
	of *v1alpha1.InstallPlan
	// csv is the name of the version in the bundle, and before the version that it replaces, or nil.
	csv    string
	before *v1alpha1.ClusterServiceVersion
	// holder is the version that releases objects while the plan writes them, or nil.
	holder *v1alpha1.ClusterServiceVersion
	// begun means that the plan has written an object of the bundle other than the ClusterServiceVersion.
	begun bool
	pass  *pass
	out   *operon.Composition
}

// others declares the objects that are neither the version nor definitions, when the version exists.
func (w *writing) others(ctx context.Context, all []*unstructured.Unstructured) error {
	csv, err := version(ctx, w.of.Namespace, w.csv, w.out)
	if err != nil {
		return err
	}
	if csv == nil {
		w.pass.later(func() {
			w.out.Wait(reasonWaitingForCSV, fmt.Sprintf("waits until the ClusterServiceVersion %s exists", w.csv))
		})
		return w.refused(ctx, all)
	}
	w.holder = w.before
	if w.of.Annotations[AnnotationRestores] != "" {
		w.holder = csv
	}
	for _, object := range all {
		if object.GetNamespace() != "" {
			own(object, csv)
		}
		if err := w.declare(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// refused returns the refusal of the first object that cannot be written.
func (w *writing) refused(ctx context.Context, all []*unstructured.Unstructured) error {
	for _, object := range all {
		lacks, err := plan.Lacks(ctx, w.out, object.GroupVersionKind())
		if err != nil {
			return err
		}
		if lacks != "" {
			continue
		}
		live, exists, err := Live(ctx, w.out, object)
		if err != nil {
			return err
		}
		if exists && !isChild(live, w.of) && !w.mine(live) && live.Kind != "ServiceAccount" {
			return refusal{ReasonForeignObject, foreign(live)}
		}
	}
	return nil
}

// declare declares an object. One that exists is only taken over if a lifecycle manager made it for this version or the one before. Others are
// refused, except ServiceAccounts, which authors expect to share: they stay as they are. Optional kinds that the cluster lacks are left out.
func (w *writing) declare(ctx context.Context, object *unstructured.Unstructured) error {
	lacks, err := plan.Lacks(ctx, w.out, object.GroupVersionKind())
	if err != nil {
		return err
	}
	if lacks != "" {
		w.leaveOut(object, lacks)
		return nil
	}
	live, exists, err := Live(ctx, w.out, object)
	if err != nil {
		return err
	}
	w.share(object, live)
	w.begun = w.begun || exists && live.Kind != kindCSV && isChild(live, w.of)
	switch {
	case !exists || isChild(live, w.of):
		w.pass.later(func() { w.out.Child(object, operon.Orphan()) })
	case live.Kind == kindCSV:
		w.pass.existed(object)
		w.pass.later(func() { w.out.Child(object, operon.Orphan(), operon.Adopt()) })
	case !w.mine(live) && live.Kind == "ServiceAccount":
		w.pass.existed(object)
	case !w.mine(live):
		return refusal{ReasonForeignObject, foreign(live)}
	case w.holder != nil && live.Labels[coreplan.OwnerLabel] == string(w.holder.UID):
		w.pass.later(func() {
			w.out.Wait(reasonWaitingForCSV, fmt.Sprintf("waits until the ClusterServiceVersion %s releases %s %s", w.holder.Name, live.Kind, live.Name))
		})
	default:
		w.pass.existed(object)
		w.pass.later(func() { w.out.Child(object, operon.Orphan(), operon.Adopt()) })
	}
	return nil
}

// notUpgradeable returns why the version before must not be replaced now, or an empty string. Until it may be, the kinds and the objects that both
// versions have stay as that version needs them.
func (w *writing) notUpgradeable(ctx context.Context) (string, error) {
	if w.before == nil || phase.RolledBack(w.before) {
		return "", nil
	}
	condition := &v2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: w.before.Namespace, Name: w.before.Name}}
	if _, err := w.out.Get(ctx, condition); err != nil {
		return "", err
	}
	return phase.NotUpgradeable(condition), nil
}

// existed records that a plan found an object. Its step is Present.
func (p *pass) existed(object client.Object) {
	for i := range p.steps {
		if of := &p.steps[i]; of.Resource.Kind == object.GetObjectKind().GroupVersionKind().Kind && of.Resource.Name == object.GetName() {
			of.Status = v1alpha1.StepPresent
		}
	}
}

// foreign returns whose object it is that a bundle has too, and what to do about it.
func foreign(live *metav1.PartialObjectMetadata) string {
	if live.Labels[render.LabelOwnerKind] == kindCSV {
		return fmt.Sprintf("%s %s belongs to the operator %s in the namespace %s: remove that operator, or install a version without the object",
			live.Kind, live.Name, live.Labels[render.LabelOwner], live.Labels[render.LabelOwnerNamespace])
	}
	for _, one := range live.OwnerReferences {
		if one.Kind == kindCSV && one.APIVersion == v1alpha1.GroupVersion.String() {
			return fmt.Sprintf("%s %s belongs to the operator %s: remove that operator, or install a version without the object", live.Kind, live.Name, one.Name)
		}
	}
	return fmt.Sprintf("%s %s exists and was not made from a bundle: remove or rename it", live.Kind, live.Name)
}

// mine reports whether a lifecycle manager made an object for the version of the plan or the one before.
func (w *writing) mine(live client.Object) bool {
	versions := []string{w.csv, w.of.Annotations[AnnotationReplaces], w.of.Annotations[AnnotationRestores]}
	if live.GetNamespace() != "" && slices.ContainsFunc(live.GetOwnerReferences(), func(one metav1.OwnerReference) bool {
		return one.Kind == kindCSV && one.APIVersion == v1alpha1.GroupVersion.String() && slices.Contains(versions, one.Name)
	}) {
		return true // OLM sets no labels on objects that garbage collection deletes
	}
	labels := live.GetLabels()
	if labels[render.LabelOwnerKind] != kindCSV || labels[render.LabelOwnerNamespace] != w.of.Namespace {
		return false
	}
	for _, version := range versions {
		if version != "" && labels[render.LabelOwner] == operon.Name(63, version) {
			return true
		}
	}
	return false
}

// share keeps the claim of the version before to an object that it has too: that version runs until the other one takes over, and goes on if
// the upgrade is given up.
func (w *writing) share(object *unstructured.Unstructured, live *metav1.PartialObjectMetadata) {
	if w.before == nil {
		return
	}
	if object.GetNamespace() == "" {
		if live.Labels[render.LabelOwner] == render.Labels(w.before)[render.LabelOwner] || live.Annotations[render.AnnotationTakenFrom] == w.before.Name {
			annotate(object, render.AnnotationTakenFrom, w.before.Name)
		}
		return
	}
	for _, reference := range live.OwnerReferences {
		if reference.UID == w.before.UID {
			object.SetOwnerReferences(append(object.GetOwnerReferences(), reference))
		}
	}
}

// leaveOut reports an object that is not written, because the cluster does not have its kind. Operators work without.
func (w *writing) leaveOut(object *unstructured.Unstructured, lacks string) {
	message := fmt.Sprintf("%s %s is left out: %s", object.GetKind(), object.GetName(), lacks)
	w.out.Warning("KindNotServed", message)
	if w.pass.leftOut == nil {
		w.pass.leftOut = map[string]string{}
	}
	w.pass.leftOut[object.GetKind()+"/"+object.GetName()] = message
}

func annotate(object client.Object, key, value string) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	object.SetAnnotations(annotations)
}
