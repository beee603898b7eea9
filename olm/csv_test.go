package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/local/localtest"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	v2 "github.com/operon-framework/operon/internal/olm/api/v2"
)

// A ClusterServiceVersion that a person applies is installed as soon as the group and the requirements exist, and its history shows it.
func TestByHand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Add(w.csv(memcached))
	w.AwaitPhase("memcached-operator.v0.0.1", v1alpha1.PhaseFailed, "NoOperatorGroup")
	w.Add(w.operatorGroup("group"))
	waiting := w.AwaitPhase("memcached-operator.v0.0.1", v1alpha1.PhasePending, "RequirementsNotMet")
	if got, want := states(waiting), "ClusterServiceVersion=Present CustomResourceDefinition=NotPresent ServiceAccount=NotPresent[NotSatisfied NotSatisfied]"; got != want {
		t.Errorf("the requirements are %s, want %s", got, want)
	}
	needs := w.requirements()
	w.Add(needs[:2]...)
	w.Await("memcached-operator.v0.0.1", "permissions are missing", func(csv *v1alpha1.ClusterServiceVersion) bool {
		return states(csv) == "ClusterServiceVersion=Present CustomResourceDefinition=Present ServiceAccount=PresentNotSatisfied[NotSatisfied NotSatisfied]"
	})
	w.Add(needs[2:]...)
	done := w.AwaitPhase("memcached-operator.v0.0.1", v1alpha1.PhaseSucceeded, "InstallSucceeded")
	if got, want := states(done), "ClusterServiceVersion=Present CustomResourceDefinition=Present ServiceAccount=Present[Satisfied Satisfied]"; got != want {
		t.Errorf("the requirements are %s, want %s", got, want)
	}
	var history []string
	for _, one := range done.Status.History {
		history = append(history, string(one.Phase)+"/"+one.Reason)
	}
	want := "Pending/RequirementsUnknown Failed/NoOperatorGroup Pending/RequirementsUnknown Pending/RequirementsNotMet InstallReady/AllRequirementsMet " +
		"Installing/InstallSucceeded Succeeded/InstallSucceeded"
	got := strings.Join(history, " ")
	if got = strings.Replace(got, " Installing/InstallWaiting", "", 1); got != want { // the Deployment may be available at once
		t.Errorf("the history is %s, want %s", got, want)
	}

	deployment := w.deployment("memcached-operator")
	pod := deployment.Spec.Template
	if got := fmt.Sprint(pod.Annotations); got != fmt.Sprintf("map[capabilities:Basic Install olm.operatorGroup:group olm.operatorNamespace:%s olm.targetNamespaces:%s]", w.Namespace, w.Namespace) {
		t.Errorf("the annotations of the pods are %s", got)
	}
	if env := pod.Spec.Containers[0].Env; len(env) != 2 || env[1].Name != "OPERATOR_CONDITION_NAME" || env[1].Value != done.Name {
		t.Errorf("the environment is %+v", env)
	}
	w.quiet()

	w.Must(w.Delete(t.Context(), needs[3]))
	w.AwaitPhase("memcached-operator.v0.0.1", v1alpha1.PhasePending, "RequirementsNotMet")
	if now := w.deployment("memcached-operator"); now.UID != deployment.UID {
		t.Error("the Deployment was created again")
	}
	w.Must(w.Delete(t.Context(), done))
	w.AwaitGone(done)
	w.AwaitGone(deployment)
}

// A version that names another one in replaces takes over its Deployment, which keeps running, and the older version is deleted.
func TestUpgradeByReplaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Add(w.operatorGroup("group"))
	w.Add(w.requirements()...)
	w.Add(w.csv(memcached))
	first := w.AwaitPhase("memcached-operator.v0.0.1", v1alpha1.PhaseSucceeded, "")
	before := w.deployment("memcached-operator")
	w.Add(w.csv(version("0.0.2", "0.0.1")))
	w.AwaitPhase("memcached-operator.v0.0.2", v1alpha1.PhaseSucceeded, "")
	w.AwaitGone(first)
	after := w.deployment("memcached-operator")
	if after.UID != before.UID {
		t.Error("the Deployment was created again")
	}
	if image := after.Spec.Template.Spec.Containers[0].Image; image != "memcached-operator:0.0.2" {
		t.Errorf("the image is %s", image)
	}
	w.quiet()
	for _, request := range w.sent.list() {
		if strings.HasPrefix(request, "DELETE") && strings.Contains(request, "deployments") {
			t.Errorf("the manager sent %s", request)
		}
	}
}

// An operator that says that it is not upgradeable is not replaced, until an administrator overrules it.
func TestOperatorThatIsNotUpgradeable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Add(w.operatorGroup("group"))
	w.Add(w.requirements()...)
	w.Add(w.csv(memcached))
	first := w.AwaitPhase("memcached-operator.v0.0.1", v1alpha1.PhaseSucceeded, "")
	condition := &v2.OperatorCondition{ObjectMeta: w.Named(first.Name)}
	w.Must(w.Patch(t.Context(), condition, client.RawPatch("application/merge-patch+json", []byte(
		`{"spec":{"conditions":[{"type":"Upgradeable","status":"False","reason":"Busy","message":"a migration runs","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`))))
	if len(condition.Spec.ServiceAccounts) != 1 || condition.Spec.ServiceAccounts[0] != "memcached-operator" {
		t.Errorf("the OperatorCondition is %+v", condition.Spec)
	}
	w.quiet() // the manager learns of the OperatorCondition from another watch than of the next version
	w.Add(w.csv(version("0.0.2", "0.0.1")))
	held := w.AwaitPhase("memcached-operator.v0.0.2", v1alpha1.PhasePending, "OperatorConditionNotUpgradeable")
	if !strings.Contains(held.Status.Message, "a migration runs") {
		t.Errorf("the message is %s", held.Status.Message)
	}
	w.quiet()
	w.AwaitPhase(first.Name, v1alpha1.PhaseSucceeded, "")
	w.Must(w.Patch(t.Context(), condition, client.RawPatch("application/merge-patch+json", []byte(
		`{"spec":{"overrides":[{"type":"Upgradeable","status":"True","reason":"Approved","message":"now","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`))))
	w.AwaitPhase("memcached-operator.v0.0.2", v1alpha1.PhaseSucceeded, "")
	w.AwaitGone(first)
}

// noAccount is the message about the group of a test without its ServiceAccount.
const noAccount = "the ServiceAccount limited does not exist: create it, or correct spec.serviceAccountName of the OperatorGroup group"

// A group with a ServiceAccount runs only operators that get no more than that may do. Two operators do not provide the same kind.
func TestRefusedOperators(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	group := w.operatorGroup("group")
	group.Spec.ServiceAccountName = "limited"
	w.Add(group)
	w.Add(w.requirements()...)
	w.Add(w.csv(memcached))
	w.awaitReason(first, v1alpha1.PhaseFailed, "GroupServiceAccountForbidden", noAccount)
	w.Add(&corev1.ServiceAccount{ObjectMeta: w.Named("limited")})
	w.awaitReason(first, v1alpha1.PhaseFailed, "GroupServiceAccountForbidden", "the ServiceAccount limited, which may not: * pods in the namespace "+w.Namespace)
	w.Add(w.csv(strings.ReplaceAll(memcached, "memcached-operator", "rival")))
	w.AwaitPhase("rival.v0.0.1", v1alpha1.PhaseFailed, "GroupServiceAccountForbidden")
	w.Add(&rbacv1.RoleBinding{
		ObjectMeta: w.Named("limited"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "memcached-operator"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "limited", Namespace: w.Namespace}},
	})
	w.AwaitPhase("memcached-operator.v0.0.1", v1alpha1.PhaseSucceeded, "")
	w.AwaitPhase("rival.v0.0.1", v1alpha1.PhaseFailed, "OwnerConflict")

	w.failPods("memcached-operator", `"never-ready"`)
	w.AwaitPhase(first, v1alpha1.PhaseFailed, "ComponentUnhealthy")
	w.quiet()
	w.AwaitPhase("rival.v0.0.1", v1alpha1.PhaseFailed, "OwnerConflict") // an outage does not make room for another operator
	w.failPods("memcached-operator", "null")
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	w.Must(w.Delete(t.Context(), w.csv(memcached)))
	w.AwaitPhase("rival.v0.0.1", v1alpha1.PhasePending, "RequirementsNotMet")
}

// A version that somebody writes gets the permissions of an API server only if the ServiceAccount of the group could grant them.
func TestAPIServerOfALimitedGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	group := w.operatorGroup("group")
	group.Spec.ServiceAccountName = "limited"
	w.Add(group, &corev1.ServiceAccount{ObjectMeta: w.Named("limited")}, &rbacv1.RoleBinding{
		ObjectMeta: w.Named("limited"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "memcached-operator"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "limited", Namespace: w.Namespace}},
	})
	w.Add(w.requirements()...)
	w.Add(w.csv(memcached + "  apiservicedefinitions: {owned: [{group: stock.$GROUP, version: v1, kind: Item, deploymentName: memcached-operator}]}\n"))
	w.awaitReason(first, v1alpha1.PhaseFailed, "GroupServiceAccountForbidden",
		"get secrets "+serviceName+"-cert in the namespace "+w.Namespace, "bind clusterroles.rbac.authorization.k8s.io system:auth-delegator in the cluster",
		"bind roles.rbac.authorization.k8s.io extension-apiserver-authentication-reader in the namespace kube-system")
	w.quiet()
	w.sent.mustNotContain(t, "bindings")
}

// quiet waits until the manager has written nothing for a second, or longer on a slow machine.
func (w *world) quiet() {
	w.Helper()
	last, since := -1, time.Now()
	localtest.Eventually(w.T, "the manager is idle", func(ctx context.Context) error {
		began := time.Now()
		if err := w.Get(ctx, client.ObjectKey{Name: w.Namespace}, &corev1.Namespace{}); err != nil {
			return err
		}
		enough := max(time.Second, 20*time.Since(began)) // more where a request takes long
		all := w.sent.list()
		if len(all) != last {
			last, since = len(all), time.Now()
		}
		if idle := time.Since(since); idle < enough {
			return fmt.Errorf("it sent %q", all[max(0, last-3):])
		}
		return nil
	})
}

// states returns the requirements of a version in one line.
func states(csv *v1alpha1.ClusterServiceVersion) string {
	var all []string
	for _, one := range csv.Status.RequirementStatus {
		text := one.Kind + "=" + string(one.Status)
		if len(one.Dependents) > 0 {
			var dependents []string
			for _, dependent := range one.Dependents {
				dependents = append(dependents, string(dependent.Status))
			}
			text += fmt.Sprint(dependents)
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// A version that is deleted before it has adopted the cluster-scoped objects of its plan leaves none of them. Those of other versions stay.
func TestDeletedBeforeItAdopts(t *testing.T) {
	t.Parallel()
	w := &world{T: t, Env: localtest.Shared(t), sent: &requests{}}
	w.connect()
	role := func(name, owner string) *rbacv1.ClusterRole {
		return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace + "-" + name, Labels: map[string]string{
			"olm.owner": owner, "olm.owner.kind": "ClusterServiceVersion", "olm.owner.namespace": w.Namespace,
		}}}
	}
	left, other := role("left", "memcached-operator.v0.0.1"), role("other", "another.v0.0.1")
	csv := w.csv(memcached)
	csv.SetFinalizers([]string{"operon.dev/cleanup"})
	w.Add(left, other, csv)
	w.Must(w.Delete(t.Context(), csv))
	w.run(w.Namespace)
	w.AwaitGone(csv)
	w.AwaitGone(left)
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(other), other))
	w.Must(w.Delete(t.Context(), other))
}

// An installed version that somebody labels as a copy stays installed.
func TestInstalledVersionLabeledAsACopy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	csv := w.csv(memcached)
	w.Add(w.operatorGroup("group"))
	w.Add(w.requirements()...)
	w.Add(csv)
	installed := w.AwaitPhase("memcached-operator.v0.0.1", v1alpha1.PhaseSucceeded, "")
	w.Must(w.Patch(t.Context(), csv, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"olm.copiedFrom":"nowhere"}}}`))))
	w.Await(installed.Name, "has lost the label", func(csv *v1alpha1.ClusterServiceVersion) bool { return !csv.Copied() })
	w.quiet()
	w.AwaitPhase(installed.Name, v1alpha1.PhaseSucceeded, "")
	w.Must(w.Delete(t.Context(), csv))
	w.AwaitGone(installed)
}
