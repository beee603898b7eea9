package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/local/localtest"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	v2 "github.com/operon-framework/operon/internal/olm/api/v2"
	"github.com/operon-framework/operon/internal/testing/registrytest"
)

const (
	first  = "memcached-operator.v0.0.1"
	second = "memcached-operator.v0.0.2"
)

// A version is not replaced before the plan of the next one is complete, and keeps its objects until then. While it is not upgradeable, the plan
// writes nothing but the next version. An upgrade that is given up returns what its plan has taken over.
func TestUpgradeThatIsGivenUp(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	lacking := strings.Replace(version("0.0.2", "0.0.1"), "    owned:\n", "    required: [{name: others.$GROUP, version: v1, kind: Other}]\n    owned:\n", 1)
	w.more = roles
	bundles := map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached), "0.0.2": w.bundle(r, "0.0.2", lacking)}
	w.Add(w.operatorGroup("group"), w.catalog(r, "shop", bundles, "- {name: memcached-operator.v0.0.1}\n- {name: memcached-operator.v0.0.2, replaces: memcached-operator.v0.0.1}\n"))
	w.Add(w.plan("install-1", "0.0.1", "", v1alpha1.Automatic))
	old := w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	role := w.awaitReader(old, first)
	shared := []client.Object{
		&corev1.ConfigMap{ObjectMeta: w.Named("memcached-config")}, &rbacv1.Role{ObjectMeta: w.Named("memcached-role")},
		&rbacv1.RoleBinding{ObjectMeta: w.Named("memcached-role")},
	}
	for _, object := range shared {
		w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(object), object))
	}

	plan := w.plan("install-2", "0.0.2", "0.0.1", v1alpha1.Manual)
	next := w.csv(lacking)
	w.Add(plan, next)
	w.awaitPlan(plan.Name, v1alpha1.PlanRequiresApproval)
	w.AwaitPhase(second, v1alpha1.PhasePending, "RequirementsNotMet")
	w.quiet()
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	if now := w.awaitReader(old, first); now.UID != role.UID {
		t.Error("before the approval, the ClusterRole was created again")
	}

	w.upgradeable(first, metav1.ConditionFalse)
	w.quiet() // the manager learns of it from another watch than of the approval
	w.approve(plan)
	if held := w.awaitPlan(plan.Name, v1alpha1.PlanInstalling); !strings.Contains(held.Status.Message, "The operator "+first+" is not upgradeable: busy") {
		t.Errorf("the message of the plan is %q", held.Status.Message)
	}
	w.AwaitPhase(second, v1alpha1.PhasePending, "OperatorConditionNotUpgradeable")
	w.quiet()
	if now := w.awaitReader(old, first); now.ResourceVersion != role.ResourceVersion {
		t.Error("the ClusterRole was changed although the older version is not upgradeable")
	}
	w.upgradeable(first, metav1.ConditionTrue)
	w.awaitPlan(plan.Name, v1alpha1.PlanComplete)
	w.AwaitPhase(second, v1alpha1.PhasePending, "RequirementsNotMet")
	w.quiet()
	w.Must(w.Delete(t.Context(), next))
	w.AwaitGone(next)
	if now := w.awaitReader(old, first); now.UID != role.UID {
		t.Error("after the upgrade was given up, the ClusterRole was created again")
	}
	for _, object := range shared {
		created := object.GetUID()
		localtest.Eventually(t, fmt.Sprintf("only the older version owns %T %s", object, object.GetName()), func(ctx context.Context) error {
			if err := w.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
				return err
			}
			if owners := object.GetOwnerReferences(); object.GetUID() != created || len(owners) != 1 || owners[0].UID != old.UID {
				return fmt.Errorf("its UID was %s and is %s, its owners are %+v", created, object.GetUID(), owners)
			}
			return nil
		})
	}
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	w.Must(w.Delete(t.Context(), old))
	for _, object := range append(shared, role) {
		w.AwaitGone(object)
	}
}

// roles are files of a bundle with a Role and a RoleBinding.
var roles = map[string]string{
	"manifests/role.yaml": "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: memcached-role}\nrules: [{apiGroups: [\"\"], resources: [pods], verbs: [get]}]\n",
	"manifests/binding.yaml": "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: memcached-role}\n" +
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: memcached-role}\nsubjects: [{kind: ServiceAccount, name: memcached-operator}]\n",
}

// upgradeable makes an operator say whether it may be replaced.
func (w *world) upgradeable(name string, status metav1.ConditionStatus) {
	w.Helper()
	w.Must(w.Patch(w.Context(), &v2.OperatorCondition{ObjectMeta: w.Named(name)}, client.RawPatch("application/merge-patch+json", []byte(
		`{"spec":{"conditions":[{"type":"Upgradeable","status":"`+string(status)+`","reason":"Busy","message":"busy","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`))))
}

// awaitReader waits until the ClusterRole of the bundle is a child of a version.
func (w *world) awaitReader(of *v1alpha1.ClusterServiceVersion, name string) *rbacv1.ClusterRole {
	w.Helper()
	role := &rbacv1.ClusterRole{}
	localtest.Eventually(w.T, "the ClusterRole of the bundle belongs to "+name, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKey{Name: w.Namespace + "-reader"}, role); err != nil {
			return err
		}
		if labels := role.Labels; labels["olm.owner"] != name || labels["operon.dev/owner"] != string(of.UID) {
			return fmt.Errorf("its labels are %v", labels)
		}
		return nil
	})
	return role
}

// A plan changes a CustomResourceDefinition only if the stored objects survive. The manager may read them for as long as it has to.
func TestStoredObjects(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	crd := w.definition()
	w.Add(crd)
	w.Cleanup(func() { w.Must(client.IgnoreNotFound(w.Delete(context.WithoutCancel(w.Context()), crd))) })
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(3)}}}
	object.SetAPIVersion(w.group + "/v1alpha1")
	object.SetKind("Memcached")
	object.SetNamespace(w.Namespace)
	object.SetName("one")
	localtest.Eventually(t, "an object is stored", func(ctx context.Context) error { return w.Create(ctx, object) })

	w.schema = &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"spec": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"size": {Type: "integer", Maximum: new(float64(2))}}},
	}}
	plan := w.plan("install-1", "0.0.1", "", v1alpha1.Automatic)
	w.Add(w.operatorGroup("group"), w.catalog(r, "shop", map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}, "- {name: memcached-operator.v0.0.1}\n"), plan)
	refused := w.awaitPlan(plan.Name, v1alpha1.PlanFailed)
	if !containsAll(refused.Status.Message, []string{w.Namespace + "/one", "size", "change or delete these objects"}) {
		t.Errorf("the message is %q", refused.Status.Message)
	}
	if roles := w.temporary(t.Context()); len(roles) != 1 || len(roles[0].Rules) != 1 || fmt.Sprint(roles[0].Rules[0]) != fmt.Sprint(rbacv1.PolicyRule{
		APIGroups: []string{w.group}, Resources: []string{"memcacheds"}, Verbs: []string{"list"},
	}) {
		t.Errorf("the manager has granted itself %+v", roles)
	}
	w.Must(w.Patch(t.Context(), object, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"size":1}}`))))
	w.Must(w.Patch(t.Context(), plan, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"again":"now"}}}`))))
	w.awaitPlan(plan.Name, v1alpha1.PlanComplete)
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(crd), crd))
	if crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["size"].Maximum == nil {
		t.Error("the CustomResourceDefinition was not changed")
	}
	localtest.Eventually(t, "the manager has given up its permission", func(ctx context.Context) error {
		if roles := w.temporary(ctx); len(roles) > 0 {
			return fmt.Errorf("there are %+v", roles)
		}
		return nil
	})
}

// temporary returns the ClusterRoles that the manager has made for itself because of the kind of the test.
func (w *world) temporary(ctx context.Context) []rbacv1.ClusterRole {
	w.Helper()
	var list rbacv1.ClusterRoleList
	w.Must(w.List(ctx, &list))
	var found []rbacv1.ClusterRole
	for _, one := range list.Items {
		if strings.HasPrefix(one.Name, "olm-reads-stored-objects") && len(one.Rules) > 0 && one.Rules[0].APIGroups[0] == w.group {
			found = append(found, one)
		}
	}
	return found
}

// Objects of kinds that a cluster may lack are left out then, with a message. Others are written, and deleted with the version. A ServiceAccount
// of somebody else stays as it is. Users with the ClusterRole view of Kubernetes can read the kinds of the operator.
func TestOptionalKindsAndUsers(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	links := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "consolelinks.console.openshift.io",
			Annotations: map[string]string{"api-approved.kubernetes.io": "unapproved, for a test"},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "console.openshift.io", Scope: apiextensionsv1.ClusterScoped,
			Names:    apiextensionsv1.CustomResourceDefinitionNames{Plural: "consolelinks", Kind: "ConsoleLink"},
			Versions: w.definition().Spec.Versions,
		},
	}
	links.Spec.Versions[0].Name = "v1"
	w.Add(links)
	w.Cleanup(func() { w.Must(client.IgnoreNotFound(w.Delete(context.WithoutCancel(w.Context()), links))) })
	shared := &corev1.ServiceAccount{ObjectMeta: w.Named("shared")}
	w.Add(shared)
	w.more = map[string]string{
		"manifests/account.yaml": "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: shared, labels: {from: bundle}}\n",
		"manifests/link.yaml":    "apiVersion: console.openshift.io/v1\nkind: ConsoleLink\nmetadata: {name: " + w.Namespace + "}\nspec: {text: Memcached}\n",
		"manifests/plugin.yaml":  "apiVersion: console.openshift.io/v1\nkind: ConsolePlugin\nmetadata: {name: memcached}\nspec: {}\n",
		"manifests/monitor.yaml": "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: memcached}\nspec: {}\n",
	}
	viewer := rest.CopyConfig(w.Config)
	viewer.Impersonate.UserName = "viewer-" + w.Namespace
	reads, err := client.New(viewer, client.Options{Scheme: w.Scheme()})
	w.Must(err)
	w.Add(w.operatorGroup("group"), w.catalog(r, "shop", map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}, "- {name: memcached-operator.v0.0.1}\n"),
		&rbacv1.RoleBinding{
			ObjectMeta: w.Named("viewer"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: viewer.Impersonate.UserName}},
		}, w.plan("install-1", "0.0.1", "", v1alpha1.Automatic))
	done := w.awaitPlan("install-1", v1alpha1.PlanComplete)
	for _, want := range []string{
		"ConsolePlugin memcached is left out: the cluster has no CustomResourceDefinition consoleplugins.console.openshift.io",
		"ServiceMonitor memcached is left out: the cluster has no CustomResourceDefinition servicemonitors.monitoring.coreos.com",
	} {
		if !strings.Contains(done.Status.Message, want) {
			t.Errorf("the message is %q, want %q", done.Status.Message, want)
		}
	}
	for _, step := range done.Status.Plan {
		want := v1alpha1.StepCreated
		switch step.Resource.Kind {
		case "ConsolePlugin", "ServiceMonitor":
			want = v1alpha1.StepUnsupported
		case "ServiceAccount":
			want = v1alpha1.StepPresent
		}
		if step.Status != want {
			t.Errorf("the step for %s %s is %s, want %s", step.Resource.Kind, step.Resource.Name, step.Status, want)
		}
	}
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(shared), shared))
	if len(shared.Labels) > 0 || len(shared.OwnerReferences) > 0 {
		t.Errorf("the ServiceAccount of somebody else is %+v", shared.ObjectMeta)
	}
	csv := w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	memcacheds := &unstructured.UnstructuredList{}
	memcacheds.SetAPIVersion(w.group + "/v1alpha1")
	memcacheds.SetKind("MemcachedList")
	localtest.Eventually(t, "a viewer can read the kind of the operator", func(ctx context.Context) error {
		return reads.List(ctx, memcacheds, client.InNamespace(w.Namespace))
	})
	w.quiet()
	w.Must(w.Delete(t.Context(), csv))
	w.AwaitGone(csv)
	link := &unstructured.Unstructured{}
	link.SetAPIVersion("console.openshift.io/v1")
	link.SetKind("ConsoleLink")
	link.SetName(w.Namespace)
	w.AwaitGone(link)
	var roles rbacv1.ClusterRoleList
	w.Must(w.List(t.Context(), &roles, client.MatchingLabels{"olm.owner.namespace": w.Namespace}))
	if len(roles.Items) > 0 {
		t.Errorf("left are %+v", roles.Items)
	}
}

// drops checks that nothing calls the pods of the next version for what it no longer serves, also while it does not become available, and
// that the version before gets everything back if the upgrade is given up.
func (h *hooks) drops(from string) {
	h.Helper()
	next := h.version(failing(version("0.0.3", "0.0.2")))
	next.Spec.WebhookDefinitions, next.Spec.APIServiceDefinitions.Owned = next.Spec.WebhookDefinitions[:1], nil
	h.Add(next)
	h.AwaitPhase(next.Name, v1alpha1.PhaseInstalling, "")
	h.AwaitPhase(from, v1alpha1.PhaseReplacing, "")
	served := func(ctx context.Context) string {
		kinds := []string{string(h.crd().Spec.Conversion.Strategy)}
		for _, object := range h.registered(ctx) {
			switch object.(type) {
			case *admissionregistrationv1.ValidatingWebhookConfiguration, *admissionregistrationv1.MutatingWebhookConfiguration, *apiregistrationv1.APIService:
				kinds = append(kinds, strings.TrimPrefix(fmt.Sprintf("%T", object), "*v1."))
			}
		}
		return strings.Join(kinds, " ")
	}
	await := func(what, want string) {
		h.Helper()
		localtest.Eventually(h.T, what, func(ctx context.Context) error {
			if now := served(ctx); now != want {
				return fmt.Errorf("registered are %s, want %s", now, want)
			}
			return nil
		})
	}
	await("only what the next version serves", "None ValidatingWebhookConfiguration")
	h.Must(h.Delete(h.Context(), next))
	h.AwaitGone(next)
	await("what the version before serves", "Webhook ValidatingWebhookConfiguration MutatingWebhookConfiguration APIService")
	h.redirect()
	h.AwaitPhase(from, v1alpha1.PhaseSucceeded, "")
}
