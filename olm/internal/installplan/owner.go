package installplan

import (
	"context"
	"fmt"
	"slices"

	"github.com/blang/semver/v4"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	coreplan "github.com/operon-framework/operon/internal/core/plan"

	extensionv1 "github.com/operon-framework/operon/internal/olm/api/extension/v1"
	v1 "github.com/operon-framework/operon/internal/olm/api/v1"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/contents"
)

// unowned refuses a CustomResourceDefinition that another operator uses, if that is one of another package, or if it needs a version that
// would not be served any more. It reports whether the definition is that of a newer version of the operator, which is installed in another
// namespace: that of csv would drop the fields that are new.
func (w *writing) unowned(ctx context.Context, csv *v1alpha1.ClusterServiceVersion, wanted *unstructured.Unstructured, live *apiextensionsv1.CustomResourceDefinition) (newer bool, err error) {
	var list v1alpha1.ClusterServiceVersionList
	if err := w.out.List(ctx, &list, nil, client.InNamespace(metav1.NamespaceAll), operon.Everything); err != nil { // the manager caches all of them anyway
		return false, err
	}
	own := contents.PackageOf(csv)
	for i := range list.Items {
		other := &list.Items[i]
		if concerns(w.of, other) || other.Copied() {
			continue
		}
		owns := slices.ContainsFunc(other.Spec.CustomResourceDefinitions.Owned, func(one v1alpha1.CRDDescription) bool { return one.Name == live.Name })
		if name := contents.PackageOf(other); owns && own != "" && name != "" && name != own {
			return false, refusal{ReasonForeignObject, fmt.Sprintf("CustomResourceDefinition %s belongs to %s in the namespace %s, an operator of the package %s",
				wanted.GetName(), other.Name, other.Namespace, name)}
		}
		newer = newer || owns && isNewer(other, csv)
		if version := loses(other, wanted, live); version != "" && err == nil {
			err = refusal{ReasonUnsafeCRD, fmt.Sprintf("CustomResourceDefinition %s: %s in the namespace %s needs the version %s, which would not be served any more: upgrade it first",
				wanted.GetName(), other.Name, other.Namespace, version)}
		}
	}
	if newer {
		return true, nil // nothing changes
	}
	return false, err
}

// used refuses a bundle with a CustomResourceDefinition that another operator uses.
func (w *writing) used(ctx context.Context, bundle *contents.Objects) error {
	for _, wanted := range bundle.CRDs {
		live := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: wanted.GetName()}}
		exists, err := w.out.Get(ctx, live)
		if err == nil && exists {
			_, err = w.unowned(ctx, bundle.Typed, wanted, live)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isNewer reports whether a version is newer than another one, and has written its definitions.
func isNewer(csv, than *v1alpha1.ClusterServiceVersion) bool {
	if csv.DeletionTimestamp != nil || csv.Status.PermissionsDigest == "" && csv.Status.Phase != v1alpha1.PhaseSucceeded {
		return false
	}
	one, oneErr := semver.Parse(csv.Spec.Version)
	other, otherErr := semver.Parse(than.Spec.Version)
	return oneErr == nil && otherErr == nil && one.GT(other)
}

// loses returns a version of a definition that an operator provides, or needs and has now, and that would not be served any more, or an empty string.
func loses(csv *v1alpha1.ClusterServiceVersion, wanted *unstructured.Unstructured, live *apiextensionsv1.CustomResourceDefinition) string {
	crds := csv.Spec.CustomResourceDefinitions
	needed := slices.Clone(crds.Owned)
	for _, one := range crds.Required {
		if slices.ContainsFunc(live.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Served && v.Name == one.Version }) {
			needed = append(needed, one)
		}
	}
	for _, one := range needed {
		if one.Name == live.Name && !serves(wanted, one.Version) {
			return one.Version
		}
	}
	return ""
}

// extensionOf returns a reference to the ClusterExtension that made a plan or an OperatorGroup, or nil. Versions get that of their plan, and belong to it.
func extensionOf(of metav1.Object) *metav1.OwnerReference {
	owner := metav1.GetControllerOf(of)
	if owner == nil || owner.Kind != "ClusterExtension" || owner.APIVersion != extensionv1.GroupVersion.String() {
		return nil
	}
	return &metav1.OwnerReference{APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: owner.UID}
}

// Reserved returns why a namespace is not for a plan or a Subscription, or an empty string: one of its OperatorGroups is that of another ClusterExtension.
func Reserved(groups []v1.OperatorGroup, of metav1.Object) string {
	own := extensionOf(of)
	for i := range groups {
		if by := extensionOf(&groups[i]); by != nil && (own == nil || own.UID != by.UID) {
			return fmt.Sprintf("the namespace is for the operator of the ClusterExtension %s alone: subscribe in another namespace", by.Name)
		}
	}
	return ""
}

// Of returns the plans of a namespace that install a version.
func Of(ctx context.Context, out *operon.Composition, namespace, version string) ([]v1alpha1.InstallPlan, error) {
	var plans v1alpha1.InstallPlanList
	err := out.List(ctx, &plans, nil, client.InNamespace(namespace), operon.Everything, operon.SharedCache)
	return slices.DeleteFunc(plans.Items, func(one v1alpha1.InstallPlan) bool {
		return !slices.Contains(one.Spec.ClusterServiceVersionNames, version)
	}), err
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

// serves reports whether a definition serves a version.
func serves(definition *unstructured.Unstructured, version string) bool {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	return slices.ContainsFunc(versions, func(one any) bool {
		fields, ok := one.(map[string]any)
		return ok && fields["name"] == version && fields["served"] == true
	})
}
