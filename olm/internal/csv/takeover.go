package csv

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/core/condition"
	"github.com/operon-framework/operon/internal/core/plan"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/render"
	"github.com/operon-framework/operon/internal/olm/takeover"
	"github.com/operon-framework/operon/olm/internal/installplan"
)

// labelSpecHash is on Deployments of the Operator Lifecycle Manager (OLM).
const labelSpecHash = "olm.deployment-spec-hash"

// managerOLM is the field manager of OLM, which updates objects, and of this manager, which applies them.
const managerOLM = "olm"

// refersTo reports whether an object has an owner reference to this version or to the one that it replaces. Some objects of OLM have no labels.
func (n *neighbors) refersTo(object client.Object) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(one metav1.OwnerReference) bool {
		return one.UID == n.csv.UID || n.before != nil && one.UID == n.before.UID
	})
}

// unsettled reports whether objects that another lifecycle manager made for the version may not have been adopted yet.
func (n *neighbors) unsettled() bool {
	return n.csv.Status.PermissionsDigest == "" || !meta.IsStatusConditionTrue(n.csv.Status.Report.Conditions, condition.Ready)
}

// find adds a namespaced object that exists without the labels by which live finds it.
func (n *neighbors) find(ctx context.Context, out *operon.Composition, object client.Object, into map[string]metav1.PartialObjectMetadata) error {
	key := keyOf(object)
	if _, known := into[key]; known || object.GetNamespace() == "" {
		return nil
	}
	live, found, err := installplan.Live(ctx, out, object)
	if err == nil && found {
		into[key] = *live
	}
	return err
}

// condition declares the OperatorCondition of the version, or the permission to write it. OLM makes the OperatorCondition the controller of the
// permission. Such a permission is released first, because an object has one controller.
func (n *neighbors) condition(ctx context.Context, out *operon.Composition, object client.Object, p *pass) error {
	if !n.unsettled() {
		out.Child(object)
		return nil
	}
	live, found, err := installplan.Live(ctx, out, object)
	if err != nil {
		return err
	}
	owned := func(one metav1.OwnerReference) bool { return one.Kind == "OperatorCondition" && one.Name == n.csv.Name }
	of := slices.IndexFunc(live.OwnerReferences, owned)
	switch {
	case !found || live.Labels[plan.OwnerLabel] != "":
		out.Child(object)
	case of >= 0 && ptr.Deref(live.OwnerReferences[of].Controller, false):
		p.controlled = append(p.controlled, live)
		out.Wait(reasonTakingOver, fmt.Sprintf("waits until OperatorCondition %s releases %s %s", n.csv.Name, live.Kind, live.Name))
	case of >= 0 || n.ours(live):
		out.Child(object, operon.Adopt())
	default:
		out.Child(object)
	}
	return nil
}

// oldWebhooks returns the webhook configurations that OLM made for the version. Their names are generated.
func (n *neighbors) oldWebhooks(wanted []render.Child, live existing) []client.Object {
	names, described := map[string]bool{}, map[string]bool{}
	for _, one := range wanted {
		names[keyOf(one)] = true
		if of := one.GetLabels()[render.LabelWebhookName]; of != "" {
			described[one.GetObjectKind().GroupVersionKind().Kind+"/"+of] = true
		}
	}
	var all []client.Object
	for key, one := range live.objects {
		labels := one.Labels
		if names[key] || labels[plan.OwnerLabel] != "" || labels[render.LabelOwner] != render.Labels(n.csv)[render.LabelOwner] || labels[render.LabelOwnerKind] != kindCSV {
			continue
		}
		if described[one.Kind+"/"+labels[render.LabelWebhookName]] {
			all = append(all, &one)
		}
	}
	return all
}

const (
	reasonTakingOver = "TakingOver"
	kindCSV          = "ClusterServiceVersion"
)

// oldPermissions finds the permissions that OLM made for the version and that are the same as declared ones. Only their content is compared: OLM
// has a hash of its own in the names. Others stay.
func (n *neighbors) oldPermissions(ctx context.Context, out *operon.Composition, group render.Group, p *pass) error {
	if !n.unsettled() {
		return nil
	}
	o := takeover.Permissions{Declared: out.Children()}
	namespaces := []string{n.csv.Namespace}
	if !group.All() {
		namespaces = append(namespaces, group.Targets...)
	}
	if len(n.csv.Spec.APIServiceDefinitions.Owned) > 0 {
		namespaces = append(namespaces, metav1.NamespaceSystem)
	}
	slices.Sort(namespaces)
	for _, kind := range []string{"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"} { // bindings refer to roles
		for _, namespace := range slices.Compact(slices.Clone(namespaces)) {
			if kind == "ClusterRole" || kind == "ClusterRoleBinding" {
				namespace = metav1.NamespaceAll
			}
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind(kind + "List"))
			// +operon:kind:group=rbac.authorization.k8s.io,resource=clusterroles
			if err := out.List(ctx, list, n.labels(), client.InNamespace(namespace)); err != nil {
				return err
			}
			for i := range list.Items {
				if err := o.Add(&list.Items[i]); err != nil {
					return err
				}
			}
			if namespace == metav1.NamespaceAll {
				break
			}
		}
	}
	p.doubles = append(p.doubles, o.Doubles...)
	return nil
}

// labels select the objects that a lifecycle manager made for the version.
func (n *neighbors) labels() client.MatchingLabels {
	return client.MatchingLabels{
		render.LabelOwnerKind: kindCSV, render.LabelOwnerNamespace: n.csv.Namespace, render.LabelOwner: render.Labels(n.csv)[render.LabelOwner],
	}
}

// isDouble reports whether an object is deleted because a declared one does the same.
func (p *pass) isDouble(object client.Object) bool {
	return slices.ContainsFunc(p.doubles, func(one client.Object) bool { return one.GetUID() == object.GetUID() })
}

// replaceOLM completes the takeover of an operator from OLM when all objects of the version are written: it deletes those of OLM that do the
// same, and makes this manager the only owner of the fields of Deployments.
func (c *Composer) replaceOLM(ctx context.Context, csv *v1alpha1.ClusterServiceVersion, p *pass, seen *operon.Observed) error {
	if p.dryRun {
		return nil
	}
	for _, one := range p.controlled {
		if err := c.release(ctx, one); err != nil {
			return err
		}
	}
	if reason, _, _ := seen.Unapplied(); reason != "" || p.held {
		return nil
	}
	for _, one := range p.doubles {
		if one.GetLabels()[plan.OwnerLabel] != "" {
			continue // it was a child, and is no longer declared
		}
		uid, version := one.GetUID(), one.GetResourceVersion()
		// +operon:kind:group=rbac.authorization.k8s.io,resource=clusterroles
		err := c.client.Delete(ctx, one, client.Preconditions{UID: &uid, ResourceVersion: &version})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete %s %s of OLM: %w", one.GetObjectKind().GroupVersionKind().Kind, one.GetName(), err)
		}
	}
	for _, name := range p.shared {
		if err := c.ownFields(ctx, client.ObjectKey{Namespace: csv.Namespace, Name: name}); err != nil {
			return err
		}
	}
	return nil
}

// release makes the controller of an object a plain owner.
func (c *Composer) release(ctx context.Context, object *metav1.PartialObjectMetadata) error {
	released := object.DeepCopy()
	for i := range released.OwnerReferences {
		released.OwnerReferences[i].Controller = nil
	}
	patch := client.MergeFromWithOptions(object, client.MergeFromWithOptimisticLock{})
	// +operon:kind:group=rbac.authorization.k8s.io,resource=roles
	err := c.client.Patch(ctx, released, patch, client.FieldOwner(conversionManager))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("release %s %s from its OperatorCondition: %w", object.Kind, object.Name, err)
	}
	return nil
}

// ownFields makes this manager the only owner of the fields of a Deployment that it applies. As long as OLM owned them, too, a field that the
// next version lacks would stay. Other fields of OLM stay: removing them would restart the pods.
func (c *Composer) ownFields(ctx context.Context, key client.ObjectKey) error {
	deployment := &appsv1.Deployment{}
	if err := c.reader.Get(ctx, key, deployment); err != nil {
		return client.IgnoreNotFound(err)
	}
	entries, err := takeover.SoleOwner(deployment.ManagedFields, managerOLM)
	if err != nil {
		return fmt.Errorf("the field managers of Deployment %s: %w", key, err)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": deployment.ResourceVersion, "managedFields": entries, "labels": map[string]any{labelSpecHash: nil},
	}})
	if err != nil {
		return err
	}
	err = c.client.Patch(ctx, deployment, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(conversionManager))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("own the fields of Deployment %s: %w", key, err)
	}
	return nil
}

// leftKinds are the kinds of objects that OLM makes for a version and that garbage collection does not delete, or not in all namespaces.
var leftKinds = []schema.GroupVersionKind{
	rbacv1.SchemeGroupVersion.WithKind("Role"), rbacv1.SchemeGroupVersion.WithKind("RoleBinding"),
	admissionv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration"), admissionv1.SchemeGroupVersion.WithKind("MutatingWebhookConfiguration"),
}

// deleteLeft deletes what OLM made for a version that is deleted, as far as nothing of this manager has taken its place, and no other version
// has it too: that goes on if an upgrade is given up.
func deleteLeft(ctx context.Context, csv *v1alpha1.ClusterServiceVersion, others []v1alpha1.ClusterServiceVersion, in client.Client) error {
	n := &neighbors{csv: csv}
	names := render.WebhookNames(csv) // the next version takes them over
	shared := func(one metav1.OwnerReference) bool {
		return slices.ContainsFunc(others, func(other v1alpha1.ClusterServiceVersion) bool { return other.UID == one.UID && other.UID != csv.UID })
	}
	for _, kind := range leftKinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		// +operon:kind:group=rbac.authorization.k8s.io,resource=clusterroles
		if err := in.List(ctx, list, n.labels()); err != nil {
			return err
		}
		for i := range list.Items {
			left := &list.Items[i]
			if left.Labels[plan.OwnerLabel] != "" || slices.Contains(names, left.Name) || slices.ContainsFunc(left.OwnerReferences, shared) {
				continue
			}
			// +operon:kind:group=rbac.authorization.k8s.io,resource=clusterroles
			err := in.Delete(ctx, left, client.Preconditions{UID: &left.UID, ResourceVersion: &left.ResourceVersion})
			if client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("delete %s %s of %s: %w", kind.Kind, left.Name, csv.Name, err)
			}
		}
	}
	return nil
}
