package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/local/localtest"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/testing/registrytest"
	"github.com/operon-framework/operon/olm/internal/installplan"
)

// bundle pushes the bundle of a version of memcached.
func (w *world) bundle(r *registrytest.Registry, version, csv string) string {
	w.Helper()
	return r.Push("memcached:"+version, w.files(csv))
}

// files returns the files of the bundle of a version of memcached.
func (w *world) files(csv string) map[string]string {
	w.Helper()
	crd := w.definition()
	crd.APIVersion, crd.Kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
	files := map[string]string{
		"manifests/csv.yaml":        strings.NewReplacer("$GROUP", w.group).Replace(csv),
		"manifests/crd.json":        w.json(crd),
		"manifests/config.yaml":     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: memcached-config}\n",
		"manifests/reader.yaml":     "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: " + w.Namespace + "-reader}\nrules: [{nonResourceURLs: [/metrics], verbs: [get]}]\n",
		"metadata/annotations.yaml": "annotations:\n  operators.operatorframework.io.bundle.mediatype.v1: registry+v1\n  operators.operatorframework.io.bundle.package.v1: memcached\n",
	}
	maps.Copy(files, w.more)
	return files
}

// json returns an object as text.
func (w *world) json(object any) string {
	w.Helper()
	content, err := json.Marshal(object)
	w.Must(err)
	return string(content)
}

// plan returns a plan for a version of memcached in the catalog shop.
func (w *world) plan(name, version, replaces string, approval v1alpha1.Approval) *v1alpha1.InstallPlan {
	version = "memcached-operator.v" + version
	plan := &v1alpha1.InstallPlan{ObjectMeta: w.Named(name), Spec: v1alpha1.InstallPlanSpec{
		ClusterServiceVersionNames: []string{version}, Approval: approval, Approved: approval == v1alpha1.Automatic,
	}}
	plan.Annotations = map[string]string{"olm.bundles": version + "=" + w.Namespace + "/shop"}
	if replaces != "" {
		plan.Annotations["olm.replaces"] = "memcached-operator.v" + replaces
	}
	return plan
}

// approve approves a plan.
func (w *world) approve(plan client.Object) {
	w.Helper()
	w.Must(w.Patch(w.Context(), plan, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"approved":true}}`))))
}

// catalog pushes a catalog with the package memcached, and returns a CatalogSource for it. bundles are images by version.
func (w *world) catalog(r *registrytest.Registry, name string, bundles map[string]string, entries string) *v1alpha1.CatalogSource {
	w.Helper()
	return w.catalogWith(r, name, bundles, entries, "")
}

// catalogWith adds objects to the catalog.
func (w *world) catalogWith(r *registrytest.Registry, name string, bundles map[string]string, entries, more string) *v1alpha1.CatalogSource {
	w.Helper()
	image := r.Push(name+":latest", map[string]string{"configs/memcached/catalog.yaml": w.content(bundles, entries) + more})
	return &v1alpha1.CatalogSource{ObjectMeta: w.Named(name), Spec: v1alpha1.CatalogSourceSpec{SourceType: "grpc", Image: image}}
}

// content returns the content of a catalog with the package memcached.
func (w *world) content(bundles map[string]string, entries string) string {
	content := "schema: olm.package\nname: memcached\ndefaultChannel: stable\n---\nschema: olm.channel\npackage: memcached\nname: stable\nentries:\n" + entries
	for version, image := range bundles {
		content += fmt.Sprintf(`---
schema: olm.bundle
package: memcached
name: memcached-operator.v%s
image: %s
properties:
- {type: olm.package, value: {packageName: memcached, version: %s}}
- {type: olm.gvk, value: {group: %s, version: v1alpha1, kind: Memcached}}
`, version, image, version, w.group)
	}
	return content
}

// A plan writes the objects of a bundle, after approval. The operator gets exactly the permissions of the bundle, and everything but the CRD
// is deleted with its version.
func TestInstallPlan(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	w.Add(w.operatorGroup("group"), w.catalog(r, "shop", map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}, "- {name: memcached-operator.v0.0.1}\n"))
	plan := &v1alpha1.InstallPlan{ObjectMeta: w.Named("install-1"), Spec: v1alpha1.InstallPlanSpec{
		ClusterServiceVersionNames: []string{"memcached-operator.v0.0.1"}, Approval: v1alpha1.Manual,
	}}
	plan.Annotations = map[string]string{"olm.bundles": "memcached-operator.v0.0.1=" + w.Namespace + "/shop"}
	w.Add(plan)
	w.awaitPlan("install-1", v1alpha1.PlanRequiresApproval)
	csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: w.Named("memcached-operator.v0.0.1")}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(csv), csv); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("before the approval, the version exists, error %v", err)
	}
	// What is installed is what was approved, although the tag of its image has moved.
	w.bundle(r, "0.0.1", strings.Replace(memcached, "replicas: 1", "replicas: 2", 1))
	w.Must(w.Patch(t.Context(), plan, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"approved":true}}`))))
	done := w.awaitPlan("install-1", v1alpha1.PlanComplete)
	w.AwaitPhase(csv.Name, v1alpha1.PhaseSucceeded, "")
	var steps []string
	for _, step := range done.Status.Plan {
		steps = append(steps, step.Resource.Kind+"="+string(step.Status))
	}
	if got, want := strings.Join(steps, " "), "ClusterServiceVersion=Created CustomResourceDefinition=Created ConfigMap=Created ClusterRole=Created"; got != want {
		t.Errorf("the steps are %s, want %s", got, want)
	}
	if replicas := *w.deployment("memcached-operator").Spec.Replicas; replicas != 1 {
		t.Errorf("the Deployment has %d replicas, want 1 as in the bundle that was approved", replicas)
	}
	granted := w.granted(csv.Name)
	w.quiet()

	w.Must(w.Delete(t.Context(), csv))
	for _, object := range []client.Object{
		csv, &appsv1.Deployment{ObjectMeta: w.Named("memcached-operator")}, &corev1.ServiceAccount{ObjectMeta: w.Named("memcached-operator")},
		granted, &corev1.ConfigMap{ObjectMeta: w.Named("memcached-config")},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace + "-reader"}},
	} {
		w.AwaitGone(object)
	}
	w.Must(w.Get(t.Context(), client.ObjectKey{Name: "memcacheds." + w.group}, &apiextensionsv1.CustomResourceDefinition{}))
}

// Objects in versions that API servers no longer have are written in those that replaced them, without fields that nobody knows. The plan
// says so before it is approved.
func TestPlanConvertsRemovedVersions(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	crd := w.definition()
	w.Cleanup(func() { w.Must(client.IgnoreNotFound(w.Delete(context.WithoutCancel(w.Context()), crd))) })
	w.more = map[string]string{
		"manifests/crd.json": `{"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition", "metadata": {"name": "` + crd.Name + `"},
"spec": {"group": "` + w.group + `", "version": "v1alpha1", "scope": "Namespaced", "names": {"plural": "memcacheds", "kind": "Memcached"}}}`,
		"manifests/old.yaml": strings.ReplaceAll(`
{apiVersion: policy/v1beta1, kind: PodDisruptionBudget, metadata: {name: old}, spec: {maxUnavailable: 1, selector: {}}}
---
{apiVersion: rbac.authorization.k8s.io/v1beta1, kind: Role, metadata: {name: old}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1beta1, kind: RoleBinding, metadata: {name: old}, roleRef: {kind: Role, name: old}, subjects: [{kind: ServiceAccount, name: default, namespace: $NAMESPACE}]}
---
{apiVersion: scheduling.k8s.io/v1beta1, kind: PriorityClass, metadata: {name: $NAMESPACE}, value: 7}
---
{apiVersion: extensions/v1beta1, kind: NetworkPolicy, metadata: {name: old}, spec: {podSelector: {matchLabels: {a: b}}}}
---
{apiVersion: v1, kind: Service, metadata: {name: old}, spec: {ports: [{port: 80, prot: TCP}]}}
`, "$NAMESPACE", w.Namespace),
	}
	w.Add(w.operatorGroup("group"), w.catalog(r, "shop", map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}, "- {name: memcached-operator.v0.0.1}\n"),
		w.plan("install-1", "0.0.1", "", v1alpha1.Manual))
	waits := w.awaitPlan("install-1", v1alpha1.PlanRequiresApproval)
	converted := meta.FindStatusCondition(waits.Status.Steps, "Converted")
	if converted == nil {
		t.Fatalf("there is no condition Converted: %+v", waits.Status.Steps)
	}
	for _, want := range []string{
		"CustomResourceDefinition " + crd.Name + " is written in apiextensions.k8s.io/v1, because Kubernetes 1.22 removed v1beta1: version v1alpha1 has a schema",
		"PodDisruptionBudget old is written in policy/v1, because Kubernetes 1.25 removed policy/v1beta1, and its empty selector is left out",
		"Role old is written in", "RoleBinding old is written in", "PriorityClass " + w.Namespace + " is written in", "NetworkPolicy old is written in networking.k8s.io/v1",
		"Service old is written without spec.ports[0].prot",
	} {
		if !strings.Contains(converted.Message, want) {
			t.Errorf("the message is %q, want %q", converted.Message, want)
		}
	}
	w.approve(w.plan("install-1", "0.0.1", "", v1alpha1.Manual))
	done := w.awaitPlan("install-1", v1alpha1.PlanComplete)
	if !meta.IsStatusConditionTrue(done.Status.Steps, "Converted") {
		t.Errorf("the conditions are %+v", done.Status.Steps)
	}
	w.AwaitPhase("memcached-operator.v0.0.1", v1alpha1.PhaseSucceeded, "")
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: w.Named("old")}
	for _, object := range []client.Object{
		budget, &rbacv1.Role{ObjectMeta: w.Named("old")}, &rbacv1.RoleBinding{ObjectMeta: w.Named("old")}, &networkingv1.NetworkPolicy{ObjectMeta: w.Named("old")},
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}, &corev1.Service{ObjectMeta: w.Named("old")},
	} {
		w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(object), object))
	}
	if budget.Spec.Selector != nil {
		t.Errorf("the budget selects %v, want no pods", budget.Spec.Selector)
	}
	w.quiet()
}

// A plan cannot use the catalog of another namespace.
func TestPlanWithACatalogOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plan := &v1alpha1.InstallPlan{ObjectMeta: w.Named("install-1"), Spec: v1alpha1.InstallPlanSpec{
		ClusterServiceVersionNames: []string{"memcached-operator.v0.0.1"}, Approval: v1alpha1.Automatic, Approved: true,
	}}
	plan.Annotations = map[string]string{"olm.bundles": "memcached-operator.v0.0.1=other/shop"}
	w.Add(plan)
	waits := w.awaitPlan("install-1", v1alpha1.PlanPlanning)
	if want := "catalogs of the namespace other can only be used there"; !strings.Contains(waits.Status.Message, want) {
		t.Errorf("the message is %q, want %q", waits.Status.Message, want)
	}
}

// A bundle cannot define kinds of Kubernetes or of the manager.
func TestBundleWithAReservedGroup(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	w.group = "operators.coreos.com"
	shop := w.catalog(r, "shop", map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}, "- {name: memcached-operator.v0.0.1}\n")
	plan := &v1alpha1.InstallPlan{ObjectMeta: w.Named("install-1"), Spec: v1alpha1.InstallPlanSpec{
		ClusterServiceVersionNames: []string{"memcached-operator.v0.0.1"}, Approval: v1alpha1.Automatic, Approved: true,
	}}
	plan.Annotations = map[string]string{"olm.bundles": "memcached-operator.v0.0.1=" + w.Namespace + "/shop"}
	w.Add(w.operatorGroup("group"), shop, plan)
	refused := w.awaitPlan("install-1", v1alpha1.PlanFailed)
	if want := "the API group operators.coreos.com belongs to Kubernetes or to the manager"; !strings.Contains(refused.Status.Message, want) {
		t.Errorf("the message is %q, want %q", refused.Status.Message, want)
	}
}

// A plan writes nothing that the ServiceAccount of the OperatorGroup may not write, and says what that is.
func TestPlanOfALimitedGroup(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	group := w.operatorGroup("group")
	group.Spec.ServiceAccountName = "limited"
	plan := &v1alpha1.InstallPlan{ObjectMeta: w.Named("install-1"), Spec: v1alpha1.InstallPlanSpec{
		ClusterServiceVersionNames: []string{"memcached-operator.v0.0.1"}, Approval: v1alpha1.Automatic, Approved: true,
	}}
	plan.Annotations = map[string]string{"olm.bundles": "memcached-operator.v0.0.1=" + w.Namespace + "/shop"}
	w.Add(group, w.catalog(r, "shop", map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}, "- {name: memcached-operator.v0.0.1}\n"), plan)
	w.awaitRefusal(plan, v1alpha1.PlanFailed, installplan.ReasonForbidden, noAccount)
	w.Add(&corev1.ServiceAccount{ObjectMeta: w.Named("limited")})
	w.awaitRefusal(plan, v1alpha1.PlanFailed, installplan.ReasonForbidden,
		"create, update, delete clusterserviceversions.operators.coreos.com in the namespace "+w.Namespace,
		"create, update, delete customresourcedefinitions.apiextensions.k8s.io in the cluster", "get /metrics in the cluster")
	w.sent.mustNotContain(t, "clusterserviceversions")
}

// A bundle that says to provide a kind of others gives users no permissions for it which the ServiceAccount of the OperatorGroup does not have. For
// the kinds that the bundle defines, it needs none.
func TestForeignKindOfALimitedGroup(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	group, foreign := w.operatorGroup("group"), w.definition()
	group.Spec.ServiceAccountName = "limited"
	foreign.Spec.Group = "foreign." + w.group
	foreign.Name = "memcacheds." + foreign.Spec.Group
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Name: "limited", Namespace: w.Namespace}}
	writes := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace + "-limited"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"", "apps", "operators.coreos.com", "rbac.authorization.k8s.io", "apiextensions.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"*"}},
		{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}},
	}}
	all := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: writes.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: writes.Name}, Subjects: subjects,
	}
	own := &rbacv1.Role{ObjectMeta: w.Named("limited"), Rules: []rbacv1.PolicyRule{{APIGroups: []string{w.group}, Resources: []string{"*"}, Verbs: []string{"*"}}}}
	text := strings.Replace(memcached, "    owned:\n", "    owned:\n    - {name: memcacheds.foreign.$GROUP, version: v1alpha1, kind: Memcached}\n", 1)
	plan := w.plan("install-1", "0.0.1", "", v1alpha1.Automatic)
	w.Cleanup(func() {
		for _, object := range []client.Object{foreign, writes, all} {
			w.Must(client.IgnoreNotFound(w.Delete(context.WithoutCancel(t.Context()), object)))
		}
	})
	w.Add(foreign, writes, all, own, &corev1.ServiceAccount{ObjectMeta: w.Named("limited")}, &rbacv1.RoleBinding{
		ObjectMeta: w.Named("limited"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "limited"}, Subjects: subjects,
	})
	w.Add(group, w.catalog(r, "shop", map[string]string{"0.0.1": w.bundle(r, "0.0.1", text)}, "- {name: memcached-operator.v0.0.1}\n"), plan)
	w.awaitRefusal(plan, v1alpha1.PlanFailed, installplan.ReasonForbidden, fmt.Sprintf("may not: * %[1]s in the cluster; create, update, patch, delete %[1]s in the cluster; get, list, watch %[1]s in the cluster", foreign.Name))
	w.sent.mustNotContain(t, "clusterserviceversions/memcached")
	writes.Rules = append(writes.Rules, rbacv1.PolicyRule{APIGroups: []string{foreign.Spec.Group}, Resources: []string{"memcacheds"}, Verbs: []string{"*"}})
	w.Must(w.Update(t.Context(), writes))
	w.patch(plan, `{"metadata":{"labels":{"again":"now"}}}`)
	w.awaitPlan(plan.Name, v1alpha1.PlanComplete)
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
}

// A plan changes no definition that another operator uses: one of another package, or one that needs a version which would go.
func TestDefinitionOfAnotherOperator(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	crd := w.definition()
	w.Add(crd)
	w.Cleanup(func() { w.Must(client.IgnoreNotFound(w.Delete(context.WithoutCancel(w.Context()), crd))) })
	rival := w.csv(strings.ReplaceAll(memcached, "memcached-operator", "rival"))
	rival.Annotations["operatorframework.io/properties"] = `{"properties":[{"type":"olm.package","value":{"packageName":"rival","version":"0.0.1"}}]}`
	shop := w.catalog(r, "shop", map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}, "- {name: memcached-operator.v0.0.1}\n")
	w.Add(w.operatorGroup("group"), shop, rival)
	plan := &v1alpha1.InstallPlan{ObjectMeta: w.Named("install-1"), Spec: v1alpha1.InstallPlanSpec{
		ClusterServiceVersionNames: []string{"memcached-operator.v0.0.1"}, Approval: v1alpha1.Automatic, Approved: true,
	}}
	plan.Annotations = map[string]string{"olm.bundles": "memcached-operator.v0.0.1=" + w.Namespace + "/shop"}
	w.Add(plan)
	refused := w.awaitPlan("install-1", v1alpha1.PlanFailed)
	if want := "belongs to rival.v0.0.1 in the namespace " + w.Namespace + ", an operator of the package rival"; !strings.Contains(refused.Status.Message, want) {
		t.Errorf("the message is %q, want %q", refused.Status.Message, want)
	}
	w.Must(w.Patch(t.Context(), rival, client.RawPatch("application/json-patch+json", []byte(`[
		{"op": "remove", "path": "/metadata/annotations/operatorframework.io~1properties"},
		{"op": "replace", "path": "/spec/customresourcedefinitions/owned/0/version", "value": "v1alpha0"}]`))))
	w.Must(w.Patch(t.Context(), plan, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"again":"now"}}}`))))
	w.awaitRefusal(plan, v1alpha1.PlanFailed, installplan.ReasonUnsafeCRD, "rival.v0.0.1 in the namespace "+w.Namespace+" needs the version v1alpha0")

	// Nor one that another operator only uses.
	w.Must(w.Patch(t.Context(), crd, client.RawPatch("application/json-patch+json", []byte(`[
		{"op": "copy", "from": "/spec/versions/0", "path": "/spec/versions/1"},
		{"op": "replace", "path": "/spec/versions/1/name", "value": "v1beta1"}, {"op": "replace", "path": "/spec/versions/1/storage", "value": false}]`))))
	w.patch(rival, `{"spec":{"customresourcedefinitions":{"owned":null,"required":[{"name":"`+crd.Name+`","version":"v1beta1","kind":"Memcached"}]}}}`)
	w.awaitRefusal(plan, v1alpha1.PlanFailed, installplan.ReasonUnsafeCRD, "rival.v0.0.1 in the namespace "+w.Namespace+" needs the version v1beta1")
	w.Must(w.Delete(t.Context(), rival))
	w.patch(plan, `{"metadata":{"labels":{"again":"later"}}}`)
	w.awaitPlan(plan.Name, v1alpha1.PlanComplete)
}

// Permissions that somebody writes into a ClusterServiceVersion are not granted, to the operator or to users of a kind. What runs stays as it is,
// and goes on when the change is undone. Other changes of the Deployments are carried out.
func TestChangedPermissionsAreNotGranted(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	w.Add(w.operatorGroup("group"), w.catalog(r, "shop", map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}, "- {name: memcached-operator.v0.0.1}\n"))
	w.Add(w.plan("install-1", "0.0.1", "", v1alpha1.Automatic))
	const name = "memcached-operator.v0.0.1"
	w.AwaitPhase(name, v1alpha1.PhaseSucceeded, "")
	w.awaitPlan("install-1", v1alpha1.PlanComplete)
	w.edit(name, "install/spec/deployments/0/spec/template/spec/containers/0/env/0/name", "NAMESPACES")
	localtest.Eventually(t, "the pods have the new variable", func(context.Context) error {
		if env := w.deployment("memcached-operator").Spec.Template.Spec.Containers[0].Env; env[0].Name != "NAMESPACES" {
			return fmt.Errorf("the variables are %+v", env)
		}
		return nil
	})
	for field, change := range map[string][2]string{
		"install/spec/permissions/0/rules/0/resources/0": {"secrets", "pods"},
		"customresourcedefinitions/owned/0/name":         {"secrets.", "memcacheds." + w.group},
	} {
		w.AwaitPhase(name, v1alpha1.PhaseSucceeded, "")
		w.edit(name, field, change[0])
		w.AwaitPhase(name, v1alpha1.PhaseFailed, "PermissionsChanged")
		w.quiet()
		w.granted(name)
		w.edit(name, field, change[1])
	}
	w.AwaitPhase(name, v1alpha1.PhaseSucceeded, "")
}

// edit replaces a field of the spec of a ClusterServiceVersion.
func (w *world) edit(name, field, value string) {
	w.Helper()
	patch, err := json.Marshal([]any{map[string]any{"op": "replace", "path": "/spec/" + field, "value": value}})
	w.Must(err)
	w.Must(w.Patch(w.Context(), &v1alpha1.ClusterServiceVersion{ObjectMeta: w.Named(name)}, client.RawPatch("application/json-patch+json", patch)))
}

// granted returns the Role with the permissions of a version of memcached, and fails the test if it has others than those of the bundle.
func (w *world) granted(version string) *rbacv1.Role {
	w.Helper()
	var roles rbacv1.RoleList
	w.Must(w.List(w.Context(), &roles, client.InNamespace(w.Namespace), client.MatchingLabels{"olm.owner": version}))
	var all []rbacv1.Role
	for _, one := range roles.Items {
		if one.Name != version { // the permission for the OperatorCondition
			all = append(all, one)
		}
	}
	if len(all) != 1 || len(all[0].Rules) != 2 {
		w.Fatalf("the Roles are %+v", all)
	}
	return &all[0]
}

// awaitPlan waits until a plan has a phase.
func (w *world) awaitPlan(name string, phase v1alpha1.InstallPlanPhase) *v1alpha1.InstallPlan {
	w.Helper()
	plan := &v1alpha1.InstallPlan{ObjectMeta: metav1.ObjectMeta{}}
	localtest.Eventually(w.T, fmt.Sprintf("%s: phase %s", name, phase), func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, plan); err != nil {
			return err
		}
		if plan.Status.Phase != phase {
			return fmt.Errorf("the phase is %s, %s; manager %+v", plan.Status.Phase, plan.Status.Message, plan.Status.Report)
		}
		return nil
	})
	return plan
}
