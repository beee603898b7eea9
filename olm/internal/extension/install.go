package extension

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	coreplan "github.com/operon-framework/operon/internal/core/plan"

	v1 "github.com/operon-framework/operon/internal/olm/api/extension/v1"
	operatorsv1 "github.com/operon-framework/operon/internal/olm/api/v1"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/contents"
	"github.com/operon-framework/operon/internal/olm/render"
	"github.com/operon-framework/operon/olm/internal/catalogs"
	"github.com/operon-framework/operon/olm/internal/group"
	"github.com/operon-framework/operon/olm/internal/installplan"
	"github.com/operon-framework/operon/olm/internal/limit"
	"github.com/operon-framework/operon/olm/internal/plan"
)

// groupOf returns the OperatorGroup of a ClusterExtension. Its operator works in all namespaces.
func groupOf(of *v1.ClusterExtension) *operatorsv1.OperatorGroup {
	return &operatorsv1.OperatorGroup{
		TypeMeta:   metav1.TypeMeta{APIVersion: operatorsv1.GroupVersion.String(), Kind: "OperatorGroup"},
		ObjectMeta: metav1.ObjectMeta{Namespace: of.Spec.Namespace, Name: of.Name},
		Spec:       operatorsv1.OperatorGroupSpec{ServiceAccountName: accountOf(of)},
	}
}

// accountOf returns the name of the ServiceAccount that limits the operator, or an empty string.
func accountOf(of *v1.ClusterExtension) string {
	if of.Spec.ServiceAccount == nil {
		return ""
	}
	return of.Spec.ServiceAccount.Name
}

// check refuses a version that cannot be installed. Nothing was written for it before.
func (c *Composer) check(ctx context.Context, of *v1.ClusterExtension, out *operon.Composition, chosen choice) error {
	if why := chosen.unsupported(); why != "" {
		return retry("%s", why)
	}
	if err := namespaceIsFree(ctx, of, out, chosen.name); err != nil {
		return err
	}
	read, err := c.Catalogs.Bundle(ctx, types.NamespacedName{Name: chosen.catalog}, chosen.name, catalogs.Pin{})
	if err != nil {
		return retry("%s", err.Error())
	}
	objects, err := read.Bundle.Objects(of.Spec.Namespace, read.Properties, "")
	if err != nil {
		return retry("%s: %s", chosen.name, err.Error())
	}
	in := render.Group{Name: of.Name, Namespace: of.Spec.Namespace, Targets: []string{metav1.NamespaceAll}}
	if problem := render.Supports(objects.Typed.Spec.InstallModes, in); problem.Reason != "" {
		return retry("%s: %s: a ClusterExtension installs operators for all namespaces", chosen.name, problem.Message)
	}
	if accountOf(of) == "" {
		return nil
	}
	return c.limited(ctx, of, out, plan.WithoutVersions(plan.Written([]*contents.Objects{objects}, in)))
}

// namespaceIsFree refuses a namespace that does not exist, or that others use: an OperatorGroup is for all operators of a namespace.
func namespaceIsFree(ctx context.Context, of *v1.ClusterExtension, out *operon.Composition, next string) error {
	namespace := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: of.Spec.Namespace}}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if found, err := out.Get(ctx, namespace); err != nil || !found {
		return orRetry(err, "the namespace %s does not exist: create it", of.Spec.Namespace)
	}
	groups, err := group.In(ctx, out, of.Spec.Namespace)
	if err != nil {
		return err
	}
	own := slices.IndexFunc(groups, func(one operatorsv1.OperatorGroup) bool { return one.Labels[coreplan.OwnerLabel] == string(of.UID) })
	for i := range groups {
		if one := &groups[i]; i != own && (own < 0 || !precedes(&groups[own], one)) {
			return refusal{v1.ReasonRetrying, fmt.Sprintf("the namespace %s has the OperatorGroup %s already: use a namespace for this ClusterExtension alone", one.Namespace, one.Name), own >= 0}
		}
	}
	csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: of.Spec.Namespace, Name: next}}
	if found, err := out.Get(ctx, csv); err != nil || found && !belongs(csv, of) {
		return orRetry(err, "the ClusterServiceVersion %s exists in the namespace %s and was not installed by this ClusterExtension: delete it", next, csv.Namespace)
	}
	return nil
}

// precedes reports whether the OperatorGroup of a ClusterExtension is older than that of another one, which then gives way: both may have seen an
// empty namespace.
func precedes(own, other *operatorsv1.OperatorGroup) bool {
	by := metav1.GetControllerOf(other)
	return by != nil && by.Kind == "ClusterExtension" && cmp.Or(own.CreationTimestamp.Compare(other.CreationTimestamp.Time), strings.Compare(string(own.UID), string(other.UID))) < 0
}

func orRetry(err error, format string, values ...any) error {
	if err != nil {
		return err
	}
	return retry(format, values...)
}

// limited refuses objects that the ServiceAccount of a ClusterExtension may not write, and permissions that it does not have. It is asked again
// when permissions change.
func (c *Composer) limited(ctx context.Context, of *v1.ClusterExtension, out *operon.Composition, objects []client.Object) error {
	key := client.ObjectKey{Namespace: of.Spec.Namespace, Name: accountOf(of)}
	account := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	account.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	if found, err := out.Get(ctx, account); err != nil || !found {
		return orRetry(err, "the ServiceAccount %s does not exist in the namespace %s: create it", key.Name, key.Namespace)
	}
	for _, kind := range []string{"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind(kind + "List"))
		// +operon:kind:group=rbac.authorization.k8s.io,resource=clusterroles
		if err := out.List(ctx, list, nil, client.InNamespace(metav1.NamespaceAll), operon.Everything, client.UnsafeDisableDeepCopy); err != nil {
			return err
		}
	}
	missing, err := limit.Missing(ctx, c.Cluster, key, objects)
	if err != nil || len(missing) == 0 {
		return err
	}
	return retry("the ServiceAccount %s may not: %s. Nothing was written", key.Name, strings.Join(missing, "; "))
}

// install declares the InstallPlan of a version, once the OperatorGroup limits what it may write.
func (*Composer) install(ctx context.Context, of *v1.ClusterExtension, out *operon.Composition, wanted *v1alpha1.InstallPlan, now versions) error {
	limits := groupOf(of)
	found, err := out.Get(ctx, limits)
	if err != nil {
		return err
	}
	if !found || limits.Spec.ServiceAccountName != accountOf(of) || limits.Status.ObservedGeneration != limits.Generation {
		return rolling("waits for the OperatorGroup %s", limits.Name)
	}
	live := &v1alpha1.InstallPlan{ObjectMeta: metav1.ObjectMeta{Namespace: wanted.Namespace, Name: wanted.Name}}
	if _, err = out.Get(ctx, live); err != nil {
		return err
	}
	out.Child(wanted)
	return progress(live, wanted.Spec.ClusterServiceVersionNames[0], now)
}

// progress returns how far an InstallPlan is.
func progress(live *v1alpha1.InstallPlan, name string, now versions) error {
	switch {
	case live.Status.Phase == v1alpha1.PlanFailed:
		return retry("%s", live.Status.Message)
	case now.tip != nil && now.tip.Name == name && live.Status.Phase == v1alpha1.PlanPlanning:
		return rolling("installs %s: %s", name, live.Status.Message)
	case now.tip != nil && now.tip.Name == name:
		return rolling("installs %s: it is %s: %s", name, now.tip.Status.Phase, now.tip.Status.Message)
	}
	return rolling("installs %s", name)
}

// unfinished keeps the InstallPlan of a version that works, although not all objects of its bundle are written, or not all permissions granted. It
// returns how far that is, or why the version does not work now.
func unfinished(ctx context.Context, of *v1.ClusterExtension, out *operon.Composition, now versions) error {
	plans, err := plansOf(ctx, of, out, now.tip.Name)
	if err != nil {
		return err
	}
	for i := range plans {
		if needs(now.tip, &plans[i]) {
			return proceed(out, &plans[i], now)
		}
	}
	if is := now.tip.Status; is.Phase != v1alpha1.PhaseSucceeded {
		return rolling("%s is %s: %s", now.tip.Name, is.Phase, is.Message)
	}
	return nil
}

// proceed leaves the InstallPlan of the newest version as it is, and returns how far it is.
func proceed(out *operon.Composition, live *v1alpha1.InstallPlan, now versions) error {
	out.Partial()
	return progress(live, now.tip.Name, now)
}

// plansOf returns the InstallPlans with which a ClusterExtension installs a version.
func plansOf(ctx context.Context, of *v1.ClusterExtension, out *operon.Composition, name string) ([]v1alpha1.InstallPlan, error) {
	plans, err := installplan.Of(ctx, out, of.Spec.Namespace, name)
	return slices.DeleteFunc(plans, func(one v1alpha1.InstallPlan) bool { return one.Labels[coreplan.OwnerLabel] != string(of.UID) }), err
}

// needs reports whether a version still needs its InstallPlan: it works, perhaps with permissions of the version before, which go with it.
func needs(csv *v1alpha1.ClusterServiceVersion, of *v1alpha1.InstallPlan) bool {
	return of.Status.Phase != v1alpha1.PlanComplete || slices.ContainsFunc(of.Status.BundleLookups, func(one v1alpha1.BundleLookup) bool {
		return one.Identifier == csv.Name && !granted(csv, one.PermissionsDigest)
	})
}

// granted reports whether a version has the permissions of its InstallPlan. That of an older manager has another digest for them.
func granted(csv *v1alpha1.ClusterServiceVersion, planned string) bool {
	if planned == csv.Status.PermissionsDigest {
		return true
	}
	digest, err := render.PermissionsDigest(csv)
	former, formerErr := contents.FormerDigests(csv)
	return err == nil && formerErr == nil && digest == csv.Status.PermissionsDigest && slices.Contains(former, planned)
}

// wantedPlan returns the InstallPlan of a version as it has to be. Another image, or another version to replace, makes another plan.
func (c *Composer) wantedPlan(of *v1.ClusterExtension, chosen choice, now versions) *v1alpha1.InstallPlan {
	replaces := ""
	if now.installed != nil {
		replaces = now.installed.Name
	}
	image := ""
	if loaded := c.Catalogs.Get(types.NamespacedName{Name: chosen.catalog}); loaded != nil {
		image = loaded.Image(chosen.name)
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{string(of.UID), chosen.name, chosen.catalog, image, replaces}, "\x00")))
	made := &v1alpha1.InstallPlan{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "InstallPlan"},
		ObjectMeta: metav1.ObjectMeta{Namespace: of.Spec.Namespace, Name: "install-" + hex.EncodeToString(sum[:4])},
		Spec: v1alpha1.InstallPlanSpec{
			ClusterServiceVersionNames: []string{chosen.name}, Approval: v1alpha1.Automatic, Approved: true,
		},
	}
	made.Annotations = map[string]string{installplan.AnnotationBundles: chosen.name + "=/" + chosen.catalog, annotationAsked: digestOf(of.Spec.Source.Catalog)}
	if replaces != "" {
		made.Annotations[installplan.AnnotationReplaces] = replaces
	}
	return made
}
