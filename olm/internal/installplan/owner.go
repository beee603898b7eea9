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

	extensionv1 "github.com/operon-framework/operon/internal/olm/api/extension/v1"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/contents"
)

// unowned refuses a CustomResourceDefinition that another operator uses, if that is one of another package, or if it needs a version that
// would not be served any more. own is the package of the definition.
func unowned(ctx context.Context, of *v1alpha1.InstallPlan, own string, wanted *unstructured.Unstructured, out *operon.Composition) error {
	var list v1alpha1.ClusterServiceVersionList
	if err := out.List(ctx, &list, nil, client.InNamespace(metav1.NamespaceAll), operon.Everything); err != nil { // the manager caches all of them anyway
		return err
	}
	for i := range list.Items {
		other := &list.Items[i]
		version, owns := owned(other, wanted.GetName())
		if !owns || concerns(of, other) || other.Copied() {
			continue
		}
		if name := contents.PackageOf(other); own != "" && name != "" && name != own {
			return refusal{ReasonForeignObject, fmt.Sprintf("CustomResourceDefinition %s belongs to %s in the namespace %s, an operator of the package %s",
				wanted.GetName(), other.Name, other.Namespace, name)}
		}
		if !serves(wanted, version) {
			return refusal{ReasonUnsafeCRD, fmt.Sprintf("CustomResourceDefinition %s: %s in the namespace %s needs the version %s, which would not be served any more: upgrade it first",
				wanted.GetName(), other.Name, other.Namespace, version)}
		}
	}
	return nil
}

// extensionOf returns a reference to the ClusterExtension that made a plan, or nil. Its versions get the reference, and belong to it.
func extensionOf(of *v1alpha1.InstallPlan) *metav1.OwnerReference {
	owner := metav1.GetControllerOf(of)
	if owner == nil || owner.Kind != "ClusterExtension" || owner.APIVersion != extensionv1.GroupVersion.String() {
		return nil
	}
	return &metav1.OwnerReference{APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: owner.UID}
}

// isForeign reports whether another lifecycle manager made a plan for a Subscription. It stays as it is, and is deleted with the Subscription.
func isForeign(of *v1alpha1.InstallPlan) bool {
	return of.Annotations[AnnotationBundles] == "" && of.Labels[coreplan.OwnerLabel] == "" &&
		slices.ContainsFunc(of.OwnerReferences, func(one metav1.OwnerReference) bool { return one.Kind == "Subscription" })
}

// concerns reports whether a plan installs or replaces a version.
func concerns(of *v1alpha1.InstallPlan, csv *v1alpha1.ClusterServiceVersion) bool {
	return csv.Namespace == of.Namespace &&
		(csv.Name == of.Annotations[AnnotationReplaces] || slices.Contains(of.Spec.ClusterServiceVersionNames, csv.Name))
}

// owned returns the version of a definition that an operator provides.
func owned(csv *v1alpha1.ClusterServiceVersion, definition string) (string, bool) {
	for _, crd := range csv.Spec.CustomResourceDefinitions.Owned {
		if crd.Name == definition {
			return crd.Version, true
		}
	}
	return "", false
}

// serves reports whether a definition serves a version.
func serves(definition *unstructured.Unstructured, version string) bool {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	return slices.ContainsFunc(versions, func(one any) bool {
		fields, ok := one.(map[string]any)
		return ok && fields["name"] == version && fields["served"] == true
	})
}
