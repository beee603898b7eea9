package main

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/local/localtest"

	v1 "github.com/operon-framework/operon/internal/olm/api/v1"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/phase"
	"github.com/operon-framework/operon/internal/testing/registrytest"
	"github.com/operon-framework/operon/olm/internal/group"
	"github.com/operon-framework/operon/olm/internal/installplan"
)

// plain is an operator without kinds and permissions. $NAME stands for its name.
const plain = `
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: $NAME}
spec:
  version: 1.0.0
  installModes:
  - {type: OwnNamespace, supported: true}
  install:
    strategy: deployment
    spec:
      deployments:
      - name: $NAME
        spec:
          replicas: 1
          selector: {matchLabels: {name: $NAME}}
          template:
            metadata: {labels: {name: $NAME}}
            spec: {containers: [{name: operator, image: "operator:1"}]}
`

// broken is a version that cannot be installed.
type broken struct {
	// before and after are a text of plain and what is there instead.
	before, after string
	phase         v1alpha1.Phase
	reason        string
	// message are parts of the message. The name of the object is one of them, and what to do another.
	message []string
	// mend removes the cause.
	mend func(name string)
}

// Each reason for which a version cannot run has a message that names the object and what to do, and is gone when its cause is removed.
func TestReasonsOfVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Add(w.csv(strings.ReplaceAll(plain, "$NAME", "plain")))
	w.groupReasons("plain")
	cases := w.broken()
	maps.Copy(cases, w.lacking())
	for name, one := range cases {
		text := strings.Replace(plain, one.before, one.after, 1)
		if text == plain {
			t.Fatalf("%s: plain has no %q", name, one.before)
		}
		w.Add(w.csv(strings.ReplaceAll(text, "$NAME", name)))
	}
	for name, one := range cases {
		w.awaitReason(name, one.phase, one.reason, one.message...)
	}
	w.quiet()
	for name, one := range cases {
		one.mend(name)
	}
	for name := range cases {
		w.AwaitPhase(name, v1alpha1.PhaseSucceeded, phase.ReasonInstallSucceeded)
	}
	w.becomesUnhealthy("plain")
}

// awaitReason waits until a version has a phase and a reason, with a message that has some parts.
func (w *world) awaitReason(name string, in v1alpha1.Phase, reason string, message ...string) {
	w.Helper()
	w.Await(name, fmt.Sprintf("%s %s: %q", in, reason, message), func(csv *v1alpha1.ClusterServiceVersion) bool {
		return csv.Status.Phase == in && csv.Status.Reason == reason && containsAll(csv.Status.Message, message)
	})
}

func containsAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// change changes a version by a JSON patch.
func (w *world) change(name, operation string) {
	w.Helper()
	w.Must(w.Patch(w.Context(), &v1alpha1.ClusterServiceVersion{ObjectMeta: w.Named(name)}, client.RawPatch("application/json-patch+json", []byte("["+operation+"]"))))
}

// broken returns versions with mistakes, and versions whose objects cannot be written.
func (w *world) broken() map[string]broken {
	taken := &appsv1.Deployment{ObjectMeta: w.Named("unlabeled"), Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"mine": "yes"}}, Replicas: new(int32(0)),
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"mine": "yes"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}},
	}}
	rival := &appsv1.Deployment{ObjectMeta: w.Named("rival"), Spec: taken.Spec}
	rival.Labels = map[string]string{"olm.owner": "another.v1", "olm.owner.kind": "ClusterServiceVersion", "olm.owner.namespace": w.Namespace}
	w.Add(taken, rival)
	edit := func(field, value string) func(string) {
		return func(name string) { w.edit(name, field, value) }
	}
	return map[string]broken{
		"modes": {
			"type: OwnNamespace", "type: Everywhere", v1alpha1.PhaseFailed, phase.ReasonInvalidInstallModes,
			[]string{`spec.installModes: "Everywhere" is not an install mode: use OwnNamespace`}, edit("installModes/0/type", "OwnNamespace"),
		},
		"strategy": {
			"strategy: deployment", "strategy: chart", v1alpha1.PhaseFailed, phase.ReasonInvalidStrategy,
			[]string{`spec.install.strategy: "chart" is not supported: use deployment`}, edit("install/strategy", "deployment"),
		},
		"replicas": {
			"replicas: 1", "replicas: many", v1alpha1.PhaseFailed, phase.ReasonInvalidStrategy,
			[]string{"spec.install.spec.deployments[0] (replicas): spec: want the spec of a Deployment of apps/v1", "replicas"},
			func(name string) {
				w.change(name, `{"op":"replace","path":"/spec/install/spec/deployments/0/spec/replicas","value":1}`)
			},
		},
		"webhook": {
			"  install:\n", "  webhookdefinitions: [{type: ValidatingAdmissionWebhook, generateName: hook.$GROUP, deploymentName: $NAME, admissionReviewVersions: [v1], " +
				"sideEffects: None, rules: [{apiGroups: ['*'], apiVersions: ['*'], operations: [CREATE], resources: [pods]}]}]\n  install:\n",
			v1alpha1.PhaseFailed, phase.ReasonInvalidWebhook,
			[]string{"spec.webhookdefinitions[0] (hook." + w.group + "): rules[0]: webhook rules cannot include all groups: list those"},
			func(name string) { w.change(name, `{"op":"remove","path":"/spec/webhookdefinitions"}`) },
		},
		"apiservice": {
			"  install:\n", "  apiservicedefinitions: {owned: [{group: apps, version: v1, kind: Metric, deploymentName: $NAME}]}\n  install:\n",
			v1alpha1.PhaseFailed, phase.ReasonInvalidAPIService,
			[]string{`spec.apiservicedefinitions.owned[0]: the API group "apps" belongs to Kubernetes or to the manager: use a group of your own`},
			func(name string) { w.change(name, `{"op":"remove","path":"/spec/apiservicedefinitions"}`) },
		},
		"selector": {
			"metadata: {labels: {name: $NAME}}", "metadata: {labels: {name: other}}", v1alpha1.PhaseFailed, phase.ReasonComponentFailed,
			[]string{`Deployment`, `"selector"`, "`selector` does not match template `labels`"},
			edit("install/spec/deployments/0/spec/template/metadata/labels/name", "selector"),
		},
		"unlabeled": {
			"version: 1.0.0", "version: 1.0.1", v1alpha1.PhaseFailed, phase.ReasonComponentFailed,
			[]string{"Deployment unlabeled exists already and was not created by this operator; it is left alone: delete it, or rename it in the ClusterServiceVersion"},
			func(string) { w.Must(w.Delete(w.Context(), taken)) },
		},
		"rival": {
			"version: 1.0.0", "version: 1.0.1", v1alpha1.PhaseFailed, phase.ReasonComponentFailed,
			[]string{"Deployment rival belongs to the operator another.v1: remove that operator, or rename the object"},
			func(string) { w.Must(w.Delete(w.Context(), rival)) },
		},
	}
}

// lacking returns versions that lack something in the cluster.
func (w *world) lacking() map[string]broken {
	define := func(plural, kind, version string) *apiextensionsv1.CustomResourceDefinition {
		crd := w.definition()
		crd.Name, crd.Spec.Names = plural+"."+w.group, apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind}
		crd.Spec.Versions[0].Name = version
		w.Cleanup(func() { w.Must(client.IgnoreNotFound(w.Delete(context.WithoutCancel(w.Context()), crd))) })
		return crd
	}
	coin, copied, old := define("coins", "Coin", "v1"), define("tokens", "Coin", "v1"), define("bills", "Bill", "v1alpha1")
	w.Add(coin)
	localtest.Eventually(w.T, "the first definition is established", func(ctx context.Context) error {
		err := w.Get(ctx, client.ObjectKeyFromObject(coin), coin)
		if len(coin.Status.Conditions) < 2 {
			return fmt.Errorf("its conditions are %+v, error %w", coin.Status.Conditions, err)
		}
		return err
	})
	w.Add(copied, old) // the second one has a kind that is taken
	service := &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: "v1.ledgers." + w.group}, Spec: apiregistrationv1.APIServiceSpec{
		Group: "ledgers." + w.group, Version: "v1", GroupPriorityMinimum: 10, VersionPriority: 10, InsecureSkipTLSVerify: true,
		Service: &apiregistrationv1.ServiceReference{Namespace: w.Namespace, Name: "missing"},
	}}
	w.Cleanup(func() { w.Must(client.IgnoreNotFound(w.Delete(context.WithoutCancel(w.Context()), service))) })
	add := func(object client.Object) func(string) { return func(string) { w.Add(object) } }
	requires := func(field, entry string) string { return "  " + field + ": {required: [" + entry + "]}\n  install:\n" }
	missing := func(message ...string) broken {
		return broken{before: "  install:\n", phase: v1alpha1.PhasePending, reason: phase.ReasonRequirementsNotMet, message: message}
	}
	native := missing("Queue of " + w.group + "/v1: Native API does not exist: upgrade Kubernetes, or install what serves it")
	native.after, native.mend = "  nativeAPIs: [{group: $GROUP, version: v1, kind: Queue}]\n  install:\n", add(define("queues", "Queue", "v1"))

	required := missing("CustomResourceDefinition carts." + w.group + ": CRD is not present: install an operator that provides it")
	required.after, required.mend = requires("customresourcedefinitions", "{name: carts.$GROUP, version: v1, kind: Cart}"), add(define("carts", "Cart", "v1"))

	established := missing("CustomResourceDefinition tokens."+w.group+": CRD is present but the Established condition is False (not available)", `NamesAccepted is False: "Coin`)
	established.after = requires("customresourcedefinitions", "{name: tokens.$GROUP, version: v1, kind: Coin}")
	established.mend = func(string) {
		w.patch(copied, `{"spec":{"names":{"kind":"Token","listKind":"TokenList","singular":"token"}}}`)
	}

	version := missing("CustomResourceDefinition bills." + w.group + ": CRD is present and does not serve the version v1: install a version of its operator that has it")
	version.after = requires("customresourcedefinitions", "{name: bills.$GROUP, version: v1, kind: Bill}")
	version.mend = func(string) {
		w.Must(w.Patch(w.Context(), old, client.RawPatch("application/json-patch+json", []byte(`[{"op":"copy","from":"/spec/versions/0","path":"/spec/versions/1"},
			{"op":"replace","path":"/spec/versions/1/name","value":"v1"},{"op":"replace","path":"/spec/versions/1/storage","value":false}]`))))
	}

	served := missing("APIService v1.ledgers." + w.group + ": APIService is not present: install an operator that provides it")
	served.after = requires("apiservicedefinitions", "{name: ledgers, group: ledgers.$GROUP, version: v1, kind: Ledger}")
	served.mend = func(name string) {
		w.Add(service)
		w.awaitReason(name, v1alpha1.PhasePending, phase.ReasonRequirementsNotMet,
			"APIService v1.ledgers."+w.group+": APIService is present and not available: service/missing in ", "is not present")
		w.patch(service, `{"spec":{"service":null,"insecureSkipTLSVerify":null}}`) // the API server itself serves it
	}

	deployment := missing("APIService v1.stock."+w.group+`: no deployment "shelf" in spec.install`, "correct deploymentName")
	deployment.after = "  apiservicedefinitions: {owned: [{group: stock.$GROUP, version: v1, kind: Item, deploymentName: shelf}]}\n  install:\n"
	deployment.mend = func(name string) { w.change(name, `{"op":"remove","path":"/spec/apiservicedefinitions"}`) }

	return map[string]broken{
		"native": native, "required": required, "established": established, "version": version, "served": served, "deployment": deployment,
	}
}

// groupReasons checks the states of a version, and of groups, that follow from groups.
func (w *world) groupReasons(name string) {
	w.Helper()
	w.awaitReason(name, v1alpha1.PhaseFailed, phase.ReasonNoGroup, "create one in the namespace "+w.Namespace)
	own, second := w.operatorGroup("group"), w.operatorGroup("second")
	own.Spec = v1.OperatorGroupSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": w.Namespace}}}
	w.Add(own)
	w.awaitReason(name, v1alpha1.PhaseFailed, phase.ReasonNoTargets, "operatorgroup group selects no namespaces: label a namespace")
	w.patch(own, `{"spec":{"selector":null}}`)
	w.awaitReason(name, v1alpha1.PhaseFailed, phase.ReasonUnsupportedGroup,
		"AllNamespaces InstallModeType not supported, cannot configure to watch all namespaces: change the namespaces of the operatorgroup group")
	w.patch(own, fmt.Sprintf(`{"spec":{"targetNamespaces":[%q],"serviceAccountName":"limited"}}`, w.Namespace))
	w.awaitGroup(own, group.ConditionServiceAccount, "ServiceAccountNotFound", "ServiceAccount limited is not found: create it, or change spec.serviceAccountName")
	w.Add(second)
	for _, one := range []*v1.OperatorGroup{own, second} {
		w.awaitGroup(one, group.ConditionMultiple, "MultipleOperatorGroupsFound", "delete all but one of group, second")
	}
	w.awaitReason(name, v1alpha1.PhaseFailed, phase.ReasonTooManyGroups, "delete all but one of group, second")
	w.Add(&corev1.ServiceAccount{ObjectMeta: w.Named("limited")})
	w.Must(w.Delete(w.Context(), second))
	for _, kind := range []string{group.ConditionServiceAccount, group.ConditionMultiple} {
		w.awaitGroup(own, kind, "", "")
	}
	w.AwaitPhase(name, v1alpha1.PhaseSucceeded, "")
	w.patch(own, `{"spec":{"serviceAccountName":null}}`)
}

// awaitGroup waits until a group has a condition with a reason and a part of the message, or does not have it if the reason is empty.
func (w *world) awaitGroup(of *v1.OperatorGroup, kind, reason, message string) {
	w.Helper()
	localtest.Eventually(w.T, fmt.Sprintf("%s: %s=%s", of.Name, kind, reason), func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(of), of); err != nil {
			return err
		}
		found := meta.FindStatusCondition(of.Status.Problems, kind)
		if found == nil && reason == "" {
			return nil
		}
		if found == nil || found.Status != metav1.ConditionTrue || found.Reason != reason || !strings.Contains(found.Message, message) {
			return fmt.Errorf("the conditions are %+v", of.Status.Problems)
		}
		return nil
	})
}

// becomesUnhealthy checks that a version fails while its pods do, and works again with them.
func (w *world) becomesUnhealthy(name string) {
	w.Helper()
	w.AwaitPhase(name, v1alpha1.PhaseSucceeded, "")
	w.failPods(name, `"never-ready"`)
	w.awaitReason(name, v1alpha1.PhaseFailed, phase.ReasonComponentUnhealthy, "waiting for deployment "+name+" to become ready: ")
	w.quiet()
	w.failPods(name, "null")
	w.AwaitPhase(name, v1alpha1.PhaseSucceeded, phase.ReasonInstallSucceeded)
}

// failPods makes the pods of an operator fail in a way, or work again: null.
func (w *world) failPods(name, how string) {
	w.Helper()
	var pods corev1.PodList
	w.Must(w.List(w.Context(), &pods, client.InNamespace(w.Namespace), client.MatchingLabels{"name": name}))
	if len(pods.Items) == 0 {
		w.Fatalf("%s has no pods", name)
	}
	for i := range pods.Items {
		w.patch(&pods.Items[i], `{"metadata":{"annotations":{"sim.operon.dev/fail":`+how+`}}}`)
	}
}

// A plan that cannot be carried out has a reason, and a message that names the object and what to do, and proceeds when the cause is removed.
func TestReasonsOfPlans(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	bundles := map[string]string{"0.0.1": r.Push("memcached:0.0.1", map[string]string{"README": "no bundle"})}
	const entries = "- {name: memcached-operator.v0.0.1}\n"
	shop, plan := w.catalog(r, "shop", bundles, entries), w.plan("install-1", "0.0.1", "", v1alpha1.Manual)
	other := w.definition()
	other.Spec.Versions[0].Name = "v1"
	settings := &corev1.ConfigMap{ObjectMeta: w.Named("memcached-config")}
	settings.Labels = map[string]string{"olm.owner": "another.v1", "olm.owner.kind": "ClusterServiceVersion", "olm.owner.namespace": w.Namespace}
	reader := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace + "-reader", Labels: maps.Clone(settings.Labels)}}
	reader.Labels["olm.owner.namespace"] = "elsewhere"
	w.Cleanup(func() { w.Must(client.IgnoreNotFound(w.Delete(context.WithoutCancel(t.Context()), reader))) })
	w.Add(w.operatorGroup("group"), shop, plan, other, settings, reader)

	w.awaitRefusal(plan, v1alpha1.PlanPlanning, installplan.ReasonBundleUnreadable, bundles["0.0.1"], "its content is not a bundle: it has no directories manifests and metadata")
	w.more = map[string]string{"manifests/pod.yaml": "{apiVersion: v1, kind: Pod, metadata: {name: lone}}"}
	w.bundle(r, "0.0.1", memcached)
	w.awaitRefusal(plan, v1alpha1.PlanFailed, installplan.ReasonBundleInvalid, first, "Pod", "a bundle cannot contain", ": offer a corrected bundle in the catalog")
	w.more = nil
	image := w.bundle(r, "0.0.1", memcached)
	w.awaitRefusal(plan, v1alpha1.PlanRequiresApproval, installplan.ReasonRequiresApproval, "")

	original := shop.Spec.Image
	bundles["0.0.1"] = w.bundle(r, "other", memcached)
	w.offer(shop, w.catalog(r, "newer", bundles, entries))
	w.awaitRefusal(plan, v1alpha1.PlanFailed, installplan.ReasonBundleChanged, fmt.Sprintf("its image was %q and is %q: delete the plan", image, bundles["0.0.1"]))
	w.patch(shop, fmt.Sprintf(`{"spec":{"image":%q}}`, original))
	w.awaitRefusal(plan, v1alpha1.PlanRequiresApproval, installplan.ReasonRequiresApproval, "")

	w.approve(plan)
	w.awaitRefusal(plan, v1alpha1.PlanFailed, installplan.ReasonUnsafeCRD, "CustomResourceDefinition "+other.Name+": version-dropped v1: objects may be stored in this version", ": keep it, migrate them")
	w.Must(w.Delete(t.Context(), other))
	w.Cleanup(func() {
		w.Must(client.IgnoreNotFound(w.Delete(context.WithoutCancel(t.Context()), &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: other.Name}})))
	})
	w.awaitRefusal(plan, v1alpha1.PlanFailed, installplan.ReasonForeignObject,
		"ConfigMap memcached-config belongs to the operator another.v1 in the namespace "+w.Namespace+": remove that operator, or install a version without the object")
	w.Must(w.Delete(t.Context(), settings))
	w.awaitRefusal(plan, v1alpha1.PlanFailed, installplan.ReasonForeignObject, "ClusterRole "+reader.Name+" belongs to the operator another.v1 in the namespace elsewhere")
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(reader), reader))
	if reader.Labels["olm.owner"] != "another.v1" || len(reader.Rules) > 0 {
		t.Errorf("the ClusterRole of another operator is %+v", reader)
	}
	w.Must(w.Delete(t.Context(), reader))
	w.awaitPlan(plan.Name, v1alpha1.PlanComplete)
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
}

// awaitRefusal waits until a plan has a phase, and a reason with parts of its message. It makes the manager look at the plan again, which it
// does not do at once when a catalog changes.
func (w *world) awaitRefusal(plan *v1alpha1.InstallPlan, in v1alpha1.InstallPlanPhase, reason string, message ...string) {
	w.Helper()
	looks := 0
	localtest.Eventually(w.T, fmt.Sprintf("%s: %s %s %q", plan.Name, in, reason, message), func(ctx context.Context) error {
		if looks++; looks%20 == 0 {
			w.patch(plan, fmt.Sprintf(`{"metadata":{"labels":{"look":"%d"}}}`, looks))
		}
		if err := w.Get(ctx, client.ObjectKeyFromObject(plan), plan); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(plan.Status.Report.Conditions, "Ready")
		if plan.Status.Phase != in || ready == nil || ready.Reason != reason || !containsAll(plan.Status.Message, message) {
			return fmt.Errorf("the phase is %s, the message %q, manager %+v", plan.Status.Phase, plan.Status.Message, plan.Status.Report.Conditions)
		}
		return nil
	})
}

// A ServiceAccount that two operators use belongs to one of them, and to the other one when that is removed.
func TestSharedServiceAccount(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	account := &corev1.ServiceAccount{ObjectMeta: w.Named("memcached-operator")}
	const sharer = "sharer.v1.0.0"
	text := strings.Replace(plain, "      deployments:\n", "      permissions:\n      - serviceAccountName: memcached-operator\n        rules: [{apiGroups: [''], resources: [services], verbs: [get]}]\n      deployments:\n", 1)
	image := r.Push("sharer:1", map[string]string{
		"manifests/csv.yaml":        strings.ReplaceAll(text, "$NAME", sharer),
		"metadata/annotations.yaml": "annotations:\n  operators.operatorframework.io.bundle.mediatype.v1: registry+v1\n  operators.operatorframework.io.bundle.package.v1: sharer\n",
	})
	more := fmt.Sprintf(`---
{schema: olm.package, name: sharer, defaultChannel: stable}
---
{schema: olm.channel, package: sharer, name: stable, entries: [{name: %[1]s}]}
---
{schema: olm.bundle, package: sharer, name: %[1]s, image: %[2]s, properties: [{type: olm.package, value: {packageName: sharer, version: 1.0.0}}]}
`, sharer, image)
	w.Add(w.operatorGroup("group"), w.catalogWith(r, "shop", map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}, "- {name: memcached-operator.v0.0.1}\n", more))
	w.Add(w.plan("install-1", "0.0.1", "", v1alpha1.Automatic))
	removed := w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	w.awaitPlan("install-1", v1alpha1.PlanComplete)
	other := w.plan("install-2", "0.0.1", "", v1alpha1.Automatic)
	other.Spec.ClusterServiceVersionNames, other.Annotations = []string{sharer}, map[string]string{"olm.bundles": sharer + "=" + w.Namespace + "/shop"}
	w.Add(other)
	w.AwaitPhase(sharer, v1alpha1.PhaseSucceeded, "")
	w.quiet()
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(account), account))
	if account.Labels["olm.owner"] != first {
		t.Errorf("the ServiceAccount has the labels %v", account.Labels)
	}
	w.Must(w.Delete(t.Context(), &v1alpha1.InstallPlan{ObjectMeta: w.Named("install-1")}))
	w.Must(w.Delete(t.Context(), removed))
	w.AwaitGone(removed)
	localtest.Eventually(t, "the ServiceAccount belongs to the other operator", func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(account), account); err != nil {
			return err
		}
		if account.DeletionTimestamp != nil || account.Labels["olm.owner"] != sharer {
			return fmt.Errorf("its labels are %v", account.Labels)
		}
		return nil
	})
	w.AwaitPhase(sharer, v1alpha1.PhaseSucceeded, "")
}
