package csv

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/core/plan"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/render"
)

// declare declares the Deployments of an operator and what they serve.
func (n *neighbors) declare(out *operon.Composition, wanted []render.Child, live existing, p *pass) {
	deployments := map[string]client.Object{} // that are declared now
	for _, child := range wanted {
		if live.drops(child) {
			continue
		}
		handed, kind := live.next[keyOf(child)], child.GetObjectKind().GroupVersionKind().Kind
		var options []operon.ChildOption
		if before := deployments[child.After]; before != nil && !handed {
			options = append(options, operon.After(before))
		}
		if now, exists := live.objects[keyOf(child)]; exists && !handed && p.foreign == "" && n.rival(&now) {
			p.foreign = fmt.Sprintf("%s %s belongs to the operator %s: remove that operator, or rename the object", kind, now.Name, now.Labels[render.LabelOwner])
		}
		if waits := n.shared(out, child.Object, live, options...); waits != "" {
			p.facts.Unapplied.Message = waits
			out.Wait(reasonPredecessor, waits)
			return
		}
		switch {
		case handed:
		case kind == "Deployment":
			deployments[child.GetName()] = child.Object
			if live.objects[keyOf(child)].Labels[labelSpecHash] != "" {
				p.shared = append(p.shared, child.GetName())
			}
			p.deployments = append(p.deployments, child.GetName())
		case kind == "APIService":
			p.apis = append(p.apis, child.GetName())
		}
	}
}

// existing are the objects that versions of an operator hand over to each other, by their keys.
type existing struct {
	// objects are those that exist.
	objects map[string]metav1.PartialObjectMetadata
	// next are those that the next version takes over now.
	next map[string]bool
	// webhooks are the webhooks of the next version, each as Kind/name of the webhook, if it takes over now.
	webhooks map[string]bool
}

// drops reports whether the next version takes over the Deployment that serves a webhook or an API, and has no such webhook or API: its pods
// would not answer, so that the API server would reject requests. A webhook whose path changes stays until the next version writes its own,
// so that no request bypasses it.
func (e existing) drops(child render.Child) bool {
	return child.After != "" && e.takesOver(child.After) && !e.next[keyOf(child)] && !e.webhooks[webhookOf(child)]
}

// takesOver reports whether the next version takes over a Deployment.
func (e existing) takesOver(deployment string) bool { return e.next["Deployment/"+deployment] }

// webhookOf returns the kind of a webhook configuration and the name of its webhook. Other objects have only a kind.
func webhookOf(object client.Object) string {
	return object.GetObjectKind().GroupVersionKind().Kind + "/" + object.GetLabels()[render.LabelWebhookName]
}

func keyOf(object client.Object) string {
	return object.GetObjectKind().GroupVersionKind().Kind + "/" + object.GetName()
}

// existing returns which of the objects that are wanted exist, and which the next version takes over.
func (n *neighbors) existing(ctx context.Context, out *operon.Composition, group render.Group, wanted []render.Child) (existing, error) {
	found := existing{objects: map[string]metav1.PartialObjectMetadata{}, next: map[string]bool{}, webhooks: map[string]bool{}}
	kinds := map[schema.GroupVersionKind]bool{}
	for _, object := range wanted {
		kind := object.GetObjectKind().GroupVersionKind()
		if kinds[kind] {
			continue
		}
		kinds[kind] = true
		if err := n.live(ctx, out, kind, found.objects); err != nil {
			return found, err
		}
	}
	if n.unsettled() {
		for _, object := range wanted {
			if err := n.find(ctx, out, object.Object, found.objects); err != nil {
				return found, err
			}
		}
	}
	if n.handsOver() {
		objects, _ := objects(n.after, group, nil) // a mistake in it keeps it from this phase
		for _, object := range objects {
			found.next[keyOf(object)] = true
			if object.GetLabels()[render.LabelWebhookName] != "" {
				found.webhooks[webhookOf(object)] = true
			}
		}
	}
	return found, nil
}

// handsOver reports whether the next version takes over now. It does so when nothing else is missing.
func (n *neighbors) handsOver() bool {
	if n.after == nil || n.csv.Status.Phase != v1alpha1.PhaseReplacing && n.csv.Status.Phase != v1alpha1.PhaseDeleting {
		return false
	}
	switch n.after.Status.Phase {
	case v1alpha1.PhaseInstallReady, v1alpha1.PhaseInstalling, v1alpha1.PhaseSucceeded:
		return true
	}
	return false
}

// shared declares an object that another version may have, too. Objects of the next version are handed over: they are left behind, and the
// next version adopts them, so that no pod stops because its Deployment is deleted and created again. It returns why the object still belongs
// to the version before, or an empty string.
func (n *neighbors) shared(out *operon.Composition, object client.Object, live existing, options ...operon.ChildOption) string {
	key := keyOf(object)
	now, exists := live.objects[key]
	owner := now.Labels[plan.OwnerLabel]
	switch {
	case live.next[key] && exists && owner == string(n.csv.UID) && now.Annotations[plan.RemovalAnnotation] != plan.RemovalOrphan:
		out.Child(object, operon.Orphan()) // once, so that the next reconcile releases it
	case live.next[key]:
	case exists && n.ownedBefore(now):
		return fmt.Sprintf("waiting until %s releases %s %s", n.before.Name, object.GetObjectKind().GroupVersionKind().Kind, now.Name)
	case exists && n.ours(&now):
		out.Child(object, append(options, operon.Adopt())...)
	default:
		out.Child(object, options...)
	}
	return ""
}

// ownedBefore reports whether an object still belongs to the version that this one replaces.
func (n *neighbors) ownedBefore(object metav1.PartialObjectMetadata) bool {
	return n.before != nil && object.Labels[plan.OwnerLabel] == string(n.before.UID)
}

// rival reports whether an object belongs to another operator of the namespace.
func (n *neighbors) rival(object client.Object) bool {
	return object.GetLabels()[plan.OwnerLabel] != string(n.csv.UID) && object.GetLabels()[render.LabelOwnerKind] == "ClusterServiceVersion" && !n.ours(object)
}

// ours reports whether an object was made for this version or for the one that it replaces, also by another lifecycle manager. Other objects
// are never adopted, because a bundle could then take over anything.
func (n *neighbors) ours(object client.Object) bool {
	if n.refersTo(object) {
		return true
	}
	labels := object.GetLabels()
	if labels[render.LabelOwnerKind] != "ClusterServiceVersion" || labels[render.LabelOwnerNamespace] != n.csv.Namespace {
		return false
	}
	owner, replaces := labels[render.LabelOwner], n.csv.Spec.Replaces
	if n.after != nil && replaces == n.after.Name {
		replaces = "" // before a downgrade
	}
	return owner == render.Labels(n.csv)[render.LabelOwner] || replaces != "" && owner == operon.Name(63, replaces) ||
		n.before != nil && owner == render.Labels(n.before)[render.LabelOwner]
}

// live adds the objects of a kind that a lifecycle manager made for an operator of the namespace.
func (n *neighbors) live(ctx context.Context, out *operon.Composition, kind schema.GroupVersionKind, into map[string]metav1.PartialObjectMetadata) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := out.List(ctx, list, client.MatchingLabels{render.LabelOwnerNamespace: n.csv.Namespace}); err != nil {
		return err
	}
	for _, object := range list.Items {
		into[kind.Kind+"/"+object.Name] = object
	}
	return nil
}
