// Package handback makes the operators of Operon's lifecycle manager those of the Operator Lifecycle Manager (OLM) again, while neither of them
// runs. It removes the marks of the manager and changes nothing else, so an interrupted run loses nothing, and another one finishes it.
package handback

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/olm"
)

const (
	coreGroup = "operators.coreos.com"
	operator  = "olm" // the name of the manager
	domain    = "operon.dev"
)

// owners are the kinds that the manager reconciles. A kind that the cluster does not have has no objects.
var owners = []schema.GroupVersionResource{
	{Group: coreGroup, Version: "v1alpha1", Resource: "catalogsources"},
	{Group: coreGroup, Version: "v1", Resource: "operatorgroups"},
	{Group: coreGroup, Version: "v1alpha1", Resource: "subscriptions"},
	{Group: coreGroup, Version: "v1alpha1", Resource: "installplans"},
	{Group: coreGroup, Version: "v1alpha1", Resource: "clusterserviceversions"},
}

// Check returns an error if operators cannot be handed back now: a version is being installed or replaced, or belongs to a ClusterExtension.
func Check(ctx context.Context, client *kube.Client) error {
	state, err := olm.Read(ctx, client, metav1.NamespaceAll)
	if errors.Is(err, olm.ErrNotInstalled) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(state.Lacks) > 0 {
		return fmt.Errorf("what the manager does is not known: %s", state.Lacks[0])
	}
	found, err := client.List(ctx, olm.Extensions, metav1.NamespaceAll, "")
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return fmt.Errorf("ClusterExtension %s: the operators of ClusterExtensions cannot be handed back: remove them with `operon olm remove`", found[0].GetName())
	}
	for i := range state.Plans {
		if one := &state.Plans[i]; ours(one.Labels) && one.Spec.Approved && one.Status.Phase != olm.PlanComplete {
			return fmt.Errorf("InstallPlan %s/%s is approved and not complete: `operon olm explain %s -n %s` says what it waits for", one.Namespace, one.Name, one.Name, one.Namespace)
		}
	}
	for i := range state.Versions {
		if one := &state.Versions[i]; one.Status.Phase == olm.PhaseReplacing || one.Status.Phase == olm.PhaseDeleting || one.DeletionTimestamp != nil {
			return fmt.Errorf("ClusterServiceVersion %s/%s is being replaced or deleted: wait until it is gone", one.Namespace, one.Name)
		}
	}
	return nil
}

func ours(labels map[string]string) bool { return labels[plan.OwnerLabel] != "" }

// Run removes the marks of the manager from all its objects, and returns how many it changed. The manager must not run. First come the objects
// that the manager made, and then those with its finalizers, so that a deletion in between waits for the next run, or for the manager.
func Run(ctx context.Context, client *kube.Client) (changed int, err error) {
	var parents []*unstructured.Unstructured
	uids := map[string]bool{}
	for _, resource := range owners {
		found, err := client.List(ctx, resource, metav1.NamespaceAll, "")
		if err != nil {
			return 0, err
		}
		parents = append(parents, found...)
		for _, one := range found {
			uids[string(one.GetUID())] = true
		}
	}
	resources, _, err := client.Deletable()
	if err != nil {
		return 0, err
	}
	for _, resource := range resources {
		found, err := client.List(ctx, resource.GroupVersionResource, metav1.NamespaceAll, plan.OwnerLabel)
		if apierrors.IsMethodNotSupported(err) {
			continue
		}
		if err != nil {
			return changed, err
		}
		for _, one := range found {
			if !uids[one.GetLabels()[plan.OwnerLabel]] {
				continue // of another operator
			}
			if err := release(ctx, client, one, uids); err != nil {
				return changed, err
			}
			changed++
		}
	}
	for _, parent := range parents {
		done, err := free(ctx, client, parent)
		if err != nil {
			return changed, err
		}
		if done {
			changed++
		}
	}
	return changed, nil
}

// Pending reports whether objects still have finalizers of the manager, which Run removes last.
func Pending(ctx context.Context, client *kube.Client) (bool, error) {
	for _, resource := range owners {
		found, err := client.List(ctx, resource, metav1.NamespaceAll, "")
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(found, func(one *unstructured.Unstructured) bool {
			return len(without(one.GetFinalizers())) < len(one.GetFinalizers())
		}) {
			return true, nil
		}
	}
	return false, nil
}

// release removes the marks of a child. Its owners stay, so that garbage collection deletes it with them, but none of them controls it, as with OLM.
// A plan that was not carried out is deleted: OLM makes its own.
func release(ctx context.Context, client *kube.Client, child *unstructured.Unstructured, uids map[string]bool) error {
	phase, _, _ := unstructured.NestedString(child.Object, "status", "phase")
	if child.GetKind() == "InstallPlan" && phase != olm.PlanComplete {
		return removePlan(ctx, client, child)
	}
	references := child.GetOwnerReferences()
	for i := range references {
		if uids[string(references[i].UID)] {
			references[i].Controller, references[i].BlockOwnerDeletion = new(false), new(false)
		}
	}
	labels := map[string]any{plan.OwnerLabel: nil, plan.PartOfLabel: nil, plan.ShardLabel: nil}
	if child.GetLabels()[plan.ManagedByLabel] == operator {
		labels[plan.ManagedByLabel] = nil
	}
	return merge(ctx, client, child, map[string]any{
		"labels": labels, "ownerReferences": references,
		"annotations": map[string]any{plan.HashAnnotation: nil, plan.AfterAnnotation: nil, plan.RemovalAnnotation: nil, "olm.taken-from": nil},
	})
}

// removePlan deletes a plan. Its finalizers are removed first: there is no manager that does.
func removePlan(ctx context.Context, client *kube.Client, of *unstructured.Unstructured) error {
	if err := merge(ctx, client, of, map[string]any{"finalizers": without(of.GetFinalizers())}); err != nil {
		return err
	}
	if err := client.Delete(ctx, of); err != nil {
		return fmt.Errorf("delete InstallPlan %s/%s: %w", of.GetNamespace(), of.GetName(), err)
	}
	return nil
}

// free removes the finalizers and marks of the manager from an object that it reconciles. It returns false if there are none.
func free(ctx context.Context, client *kube.Client, object *unstructured.Unstructured) (bool, error) {
	object, err := client.Get(ctx, object) // a child may have been changed, or deleted
	if err != nil || object == nil {
		return false, err
	}
	annotations, labels := map[string]any{}, map[string]any{}
	for key := range object.GetAnnotations() {
		if prefix, _, _ := strings.Cut(key, "/"); prefix == "metadata."+domain || prefix == "applyset.kubernetes.io" {
			annotations[key] = nil
		}
	}
	if object.GetLabels()[plan.SetLabel] != "" {
		labels[plan.SetLabel] = nil
	}
	left := without(object.GetFinalizers())
	if len(annotations)+len(labels) == 0 && len(left) == len(object.GetFinalizers()) {
		return false, nil
	}
	return true, merge(ctx, client, object, map[string]any{"annotations": annotations, "labels": labels, "finalizers": left})
}

// without returns finalizers without those of the manager.
func without(finalizers []string) []string {
	return slices.DeleteFunc(slices.Clone(finalizers), func(name string) bool { return strings.HasPrefix(name, domain+"/") })
}

// merge changes the metadata of an object in the state in which it was read.
func merge(ctx context.Context, client *kube.Client, object *unstructured.Unstructured, metadata map[string]any) error {
	fields := map[string]any{"uid": object.GetUID(), "resourceVersion": object.GetResourceVersion()}
	maps.Copy(fields, metadata)
	_, err := client.Merge(ctx, object, map[string]any{"metadata": fields})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("hand %s %s back: %w", object.GetKind(), types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}, err)
	}
	return nil
}
