package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/olm/phase"
	"github.com/operon-framework/operon/internal/olm/render"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/olm"
	"github.com/operon-framework/operon/internal/tools/olm/change"
	"github.com/operon-framework/operon/internal/tools/olm/preview"
	"github.com/operon-framework/operon/local/localtest"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/testing/registrytest"
)

// The commands for administrators: an installation and an upgrade are compared with the cluster before the approval, followed until they are
// complete, and removed with everything that belongs to the operator.
func TestCommands(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	connection, err := kube.New(w.Config, "operon-olm")
	w.Must(err)
	bundles := map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}
	source, sub := w.catalog(r, "shop", bundles, "- {name: memcached-operator.v0.0.1}\n"), w.subscribe("shop")
	sub.Spec.InstallPlanApproval = v1alpha1.Manual
	w.Add(source, sub)
	state, plan := w.waiting(connection, "memcached-operator.v0.0.1")
	if problems := w.preview(connection, state, plan).Problems; len(problems) != 1 || !strings.HasPrefix(problems[0], "the namespace has no OperatorGroup") {
		t.Errorf("the problems are %q", problems)
	}
	w.Add(w.operatorGroup("group"))
	localtest.Eventually(t, "no problem is foreseen", func(context.Context) error {
		if state, plan = w.waiting(connection, "memcached-operator.v0.0.1"); plan.Status.Message != "" {
			return errors.New(plan.Status.Message)
		}
		return nil
	})
	answer, err := state.Why("memcached")
	w.Must(err)
	if by := answer.Decides; by == nil || by.Kind != "InstallPlan" || by.Name != plan.Name || by.Field != "spec.approved" {
		t.Errorf("%+v decides", by)
	}
	first := w.preview(connection, state, plan)
	want := "create Deployment memcached-operator, create ClusterServiceVersion memcached-operator.v0.0.1, create CustomResourceDefinition memcacheds." + w.group +
		", create ConfigMap memcached-config, create ClusterRole " + w.Namespace + "-reader"
	if got := actions(first); got != want || len(first.Problems)+len(first.Unknown) != 0 {
		t.Errorf("the first plan would %s, problems %q, unknown %q; want %s", got, first.Problems, first.Unknown, want)
	}
	if !slices.Equal(first.NewImages, []string{"memcached-operator:0.0.1"}) || len(first.NewPermissions) != 3 {
		t.Errorf("new images %q, permissions %+v", first.NewImages, first.NewPermissions)
	}
	w.refused(state, plan)
	w.upgrade(connection, plan, "memcached-operator.v0.0.1")

	next := strings.Replace(version("0.0.2", "0.0.1"), "resources: [pods]", "resources: [pods, secrets]", 1)
	bundles["0.0.2"] = w.bundle(r, "0.0.2", next)
	newer := w.catalog(r, "newer", bundles, "- {name: memcached-operator.v0.0.1}\n- {name: memcached-operator.v0.0.2, replaces: memcached-operator.v0.0.1}\n")
	w.Must(w.Patch(t.Context(), source, client.RawPatch("application/merge-patch+json", []byte(fmt.Sprintf(`{"spec":{"image":%q}}`, newer.Spec.Image)))))
	state, plan = w.waiting(connection, "memcached-operator.v0.0.2")
	second := w.preview(connection, state, plan)
	want = "change Deployment memcached-operator, create ClusterServiceVersion memcached-operator.v0.0.2, leave CustomResourceDefinition memcacheds." + w.group +
		", leave ConfigMap memcached-config, leave ClusterRole " + w.Namespace + "-reader"
	if got := actions(second); got != want || len(second.Problems)+len(second.Unknown) != 0 {
		t.Errorf("the second plan would %s, problems %q, unknown %q; want %s", got, second.Problems, second.Unknown, want)
	}
	if rights := second.NewPermissions; len(rights) != 1 || rights[0].Escalates != "may read Secrets" {
		t.Errorf("new permissions %+v", rights)
	}
	if changes := second.Objects[0].Changes; len(changes) != 1 || changes[0].Path != "template.spec.containers[operator].image" {
		t.Errorf("the Deployment changes in %+v", changes)
	}
	w.upgrade(connection, plan, "memcached-operator.v0.0.2")
	for _, one := range w.state(connection).Bill().Operators {
		if one.CSV != "memcached-operator.v0.0.2" || one.Package != "memcached" || one.Upgrade != nil || one.Phase != "Succeeded" {
			t.Errorf("the bill has %+v", one)
		}
	}
	w.remove(connection)
}

// state reads the namespace as the commands do.
func (w *world) state(connection *kube.Client) *olm.State {
	w.Helper()
	state, err := olm.Read(w.Context(), connection, w.Namespace)
	w.Must(err)
	return state
}

// waiting waits until the plan for a version waits for approval.
func (w *world) waiting(connection *kube.Client, version string) (state *olm.State, plan *olm.InstallPlan) {
	w.Helper()
	localtest.Eventually(w.T, "a plan for "+version, func(context.Context) error {
		state = w.state(connection)
		for i := range state.Plans {
			plan = &state.Plans[i]
			if plan.Status.Phase == olm.PlanRequiresApproval && slices.Contains(plan.Spec.ClusterServiceVersionNames, version) && state.Subscriptions[0].Status.CurrentCSV == version {
				return nil
			}
		}
		return fmt.Errorf("there are %+v", state.Plans)
	})
	return state, plan
}

func (w *world) preview(connection *kube.Client, state *olm.State, plan *olm.InstallPlan) *preview.Preview {
	w.Helper()
	found, err := preview.Of(w.Context(), connection, w.Config, state, plan)
	w.Must(err)
	return found
}

func actions(of *preview.Preview) string {
	var all []string
	for _, one := range of.Objects {
		all = append(all, fmt.Sprintf("%s %s %s", one.Action, one.Kind, one.Name))
	}
	return strings.Join(all, ", ")
}

// refused checks what somebody without permissions sees.
func (w *world) refused(state *olm.State, plan *olm.InstallPlan) {
	w.Helper()
	config := rest.CopyConfig(w.Config)
	config.Impersonate.UserName = "nobody"
	connection, err := kube.New(config, "operon-olm")
	w.Must(err)
	if lacks := w.state(connection).Lacks; !slices.Contains(lacks, "you may not list subscriptions.operators.coreos.com in namespace "+w.Namespace) {
		w.Errorf("unknown: %q", lacks)
	}
	if _, err := change.Approve(w.Context(), connection, plan); err == nil || !strings.HasPrefix(err.Error(), "you may not patch installplans.operators.coreos.com") {
		w.Errorf("the approval: %v", err)
	}
	found, err := preview.Of(w.Context(), connection, config, state, plan)
	w.Must(err)
	if len(found.Unknown) != 4 || found.Objects[len(found.Objects)-1].Action != preview.Unknown {
		w.Errorf("unknown: %q, objects %+v", found.Unknown, found.Objects)
	}
}

// upgrade approves a plan and waits until its version runs, although the API server does not answer the first request in time.
func (w *world) upgrade(connection *kube.Client, plan *olm.InstallPlan, version string) {
	w.Helper()
	approved, err := change.Approve(w.Context(), connection, plan)
	w.Must(err)
	ctx, cancel := context.WithTimeout(w.Context(), localtest.Patience)
	defer cancel()
	config := rest.CopyConfig(w.Config)
	config.Wrap(firstTimesOut)
	busy, err := kube.New(config, "operon-olm")
	w.Must(err)
	var told []string
	w.Must(change.Await(ctx, busy, w.Namespace, "memcached", version, func(line string) { told = append(told, line) }))
	if len(told) == 0 || !strings.HasPrefix(told[0], "the API server is unavailable: ") {
		w.Errorf("the first lines are %q", told)
	}
	if !approved || w.AwaitPhase(version, v1alpha1.PhaseSucceeded, "") == nil {
		w.Errorf("approved is %v", approved)
	}
	for _, one := range w.state(connection).Plans {
		for _, step := range one.Status.Plan {
			if one.Name == plan.Name && len(step.Resource.Manifest)+len(step.Resource.Compressed) > 0 {
				w.Errorf("the complete plan has the manifest of %s", step.Resource.Name)
			}
		}
	}
}

// While a version starts, its Subscription may already name the plan of the next one, which waits for its own approval or has failed. An upgrade ends
// when the version runs.
func TestUpgradeDoesNotWaitForTheNextPlan(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]map[string]string{
		"waiting": nil,
		"failed":  {"manifests/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: lone}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			upgradeBeside(t, more)
		})
	}
}

// upgradeBeside follows an upgrade while the Subscription names the plan of the next version, which has more files.
func upgradeBeside(t *testing.T, more map[string]string) {
	w, r := newWorld(t), registrytest.New(t)
	bundles := map[string]string{"0.0.1": w.bundle(r, "0.0.1", failing(memcached))}
	w.more = more
	bundles["0.0.2"] = w.bundle(r, "0.0.2", version("0.0.2", "0.0.1"))
	sub := w.subscribe("shop")
	sub.Spec.InstallPlanApproval, sub.Spec.StartingCSV = v1alpha1.Manual, first
	w.Add(w.operatorGroup("group"), w.catalog(r, "shop", bundles, bothVersions), sub)
	w.approve(w.awaitWaiting(first))
	w.AwaitPhase(first, v1alpha1.PhaseInstalling, phase.ReasonInstallWaiting)
	want := v1alpha1.PlanRequiresApproval
	if more != nil {
		want = v1alpha1.PlanFailed
	}
	next := &v1alpha1.InstallPlan{}
	localtest.Eventually(t, "the Subscription names the next plan, and the version has a pod", func(ctx context.Context) error {
		var pods corev1.PodList
		err := errors.Join(w.Get(ctx, client.ObjectKeyFromObject(sub), sub), w.List(ctx, &pods, client.InNamespace(w.Namespace), client.MatchingLabels{"name": "memcached-operator"}))
		if ref := sub.Status.InstallPlanRef; err == nil && ref != nil {
			err = w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: ref.Name}, next)
		}
		if err != nil || !slices.Equal(next.Spec.ClusterServiceVersionNames, []string{second}) || next.Status.Phase != want || sub.Status.InstalledCSV != first || len(pods.Items) == 0 {
			return fmt.Errorf("the status is %+v, the plan %+v, with %d pods, error %w", sub.Status, next.Status, len(pods.Items), err)
		}
		return nil
	})
	w.quiet() // the pod stays the same
	connection, err := kube.New(w.Config, "operon-olm")
	w.Must(err)
	ctx, cancel := context.WithTimeout(t.Context(), localtest.Patience)
	defer cancel()
	var told []string
	w.Must(change.Await(ctx, connection, w.Namespace, sub.Name, first, func(line string) {
		told = append(told, line)
		w.failPods("memcached-operator", "null") // the version runs after the command has begun to wait
	}))
	if len(told) == 0 || strings.Contains(told[0], next.Name) {
		t.Errorf("it waited for %q, want the pods of %s", told, first)
	}
	if now := w.awaitPlan(next.Name, want); now.Spec.Approved {
		t.Error("the next plan was approved, too")
	}
}

// remove removes the operator with its kind. The operator runs until it has removed its finalizer from the last object.
func (w *world) remove(connection *kube.Client) {
	w.Helper()
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(w.group + "/v1alpha1")
	object.SetKind("Memcached")
	object.SetNamespace(w.Namespace)
	object.SetName("one")
	object.SetFinalizers([]string{w.group + "/cleanup"})
	w.Add(object)
	keeps, err := change.Plan(w.Context(), connection, w.Namespace, "memcached", false)
	w.Must(err)
	if len(keeps.Removed) != 2 || len(keeps.Kept) != 1 {
		w.Errorf("without the CRD: removed %q, kept %q", keeps.Removed, keeps.Kept)
	}
	all, err := change.Plan(w.Context(), connection, w.Namespace, "memcached", true)
	w.Must(err)
	if err := all.Check(); err != nil || len(all.Removed) != 4 {
		w.Errorf("with the CRD: removed %q, error %v", all.Removed, err)
	}
	ctx, cancel := context.WithTimeout(w.Context(), localtest.Patience)
	defer cancel()
	gone, ended := 0, make(chan error, 1)
	go func() { ended <- all.Run(ctx, connection, func(string) { gone++ }) }()
	localtest.Eventually(w.T, "the object is deleted", func(ctx context.Context) error {
		err := w.Get(ctx, client.ObjectKeyFromObject(object), object)
		if err == nil && object.GetDeletionTimestamp() == nil {
			return errors.New("it is not")
		}
		return err
	})
	w.deployment("memcached-operator")
	if slices.Contains(object.GetFinalizers(), metav1.FinalizerDeleteDependents) {
		w.Error("what the object owns is deleted before the operator removes its finalizer")
	}
	w.patch(object, `{"metadata":{"finalizers":null}}`)
	w.Must(localtest.Receive(w.T, "the end of the removal", ended))
	crd := w.definition()
	if err := w.Get(w.Context(), client.ObjectKeyFromObject(crd), crd); client.IgnoreNotFound(err) != nil || err == nil {
		w.Errorf("the CRD exists, error %v", err)
	}
	if state := w.state(connection); len(state.Subscriptions)+len(state.Versions)+len(state.Plans) != 0 || gone < 4 {
		w.Errorf("left are %+v", state)
	}
}

// Copies of versions, which the Operator Lifecycle Manager makes, are not operators.
func TestCommandsIgnoreCopies(t *testing.T) {
	t.Parallel()
	w := &world{T: t, Env: localtest.Shared(t)}
	w.connect()
	copied := w.csv(memcached)
	copied.Labels = map[string]string{v1alpha1.LabelCopiedFrom: "operators"}
	w.Add(copied)
	connection, err := kube.New(w.Config, "operon-olm")
	w.Must(err)
	if bill := w.state(connection).Bill(); len(bill.Operators) > 0 {
		t.Errorf("the bill has %+v", bill.Operators)
	}
	want := first + " is installed in namespace operators, and works in namespace " + w.Namespace + ": use -n operators"
	if all, err := change.Plan(t.Context(), connection, w.Namespace, first, true); err == nil || err.Error() != want {
		t.Errorf("removed are %+v, error %v, want %s", all, err, want)
	}
}

// A version that is installed after the plan of a removal is removed, too, with what it runs, but not one that was applied before. A CRD stays if
// another version needs it by then, or if it was not installed from a bundle. What another version takes over stays.
func TestRemovalCatchesUp(t *testing.T) {
	t.Parallel()
	w := &world{T: t, Env: localtest.Shared(t)}
	w.connect()
	crd, sub := w.definition(), w.subscribe("shop")
	w.Cleanup(func() { w.Must(client.IgnoreNotFound(w.Delete(context.WithoutCancel(w.Context()), crd))) })
	byHand, next := w.csv(version("0.0.3", "0.0.1")), w.csv(version("0.0.2", "0.0.1"))
	byHand.Spec.CustomResourceDefinitions.Owned = nil
	next.Spec.CustomResourceDefinitions.Owned = append(next.Spec.CustomResourceDefinitions.Owned, v1alpha1.CRDDescription{Name: "tills." + w.group, Version: "v1", Kind: "Till"})
	handed := w.runs("handed", w.csv(memcached))
	w.Add(crd, sub, w.csv(memcached), byHand, handed)
	sub.Status.InstalledCSV, sub.Status.CurrentCSV = first, second
	w.Must(w.Status().Update(t.Context(), sub))
	connection, err := kube.New(w.Config, "operon-olm")
	w.Must(err)
	all, err := change.Plan(t.Context(), connection, w.Namespace, sub.Name, true)
	w.Must(err)
	if want := "CustomResourceDefinition " + crd.Name + ", because it was not installed from a bundle"; !slices.Equal(all.Kept, []string{want}) {
		t.Errorf("kept are %q, want %s", all.Kept, want)
	}
	w.patch(crd, `{"metadata":{"annotations":{"olm.crd-digest":"of a bundle"}}}`)
	all, err = change.Plan(t.Context(), connection, w.Namespace, sub.Name, true)
	w.Must(err)
	if !slices.Equal(all.Definitions(), []string{crd.Name}) {
		t.Errorf("removed are %q, kept %q", all.Removed, all.Kept)
	}
	w.Add(next, w.csv(proxy))
	started := w.runs("started", next)
	w.Add(started)
	ctx, cancel := context.WithTimeout(t.Context(), localtest.Patience)
	defer cancel()
	var told []string
	w.Must(all.Run(ctx, connection, func(line string) {
		if told = append(told, line); strings.HasPrefix(line, "removed Subscription ") {
			w.patch(handed, fmt.Sprintf(`{"metadata":{"labels":{"olm.owner":%q}}}`, byHand.Name))
		}
		if line == "removed ClusterServiceVersion "+w.Namespace+"/"+second {
			w.Must(w.Delete(ctx, started))
		}
	}))
	if want := "removed Deployment " + w.Namespace + "/started"; !slices.Contains(told, want) {
		t.Errorf("the command prints %q, want %s", told, want)
	}
	removed := []string{"Subscription " + w.Namespace + "/" + sub.Name, "ClusterServiceVersion " + w.Namespace + "/" + first, "ClusterServiceVersion " + w.Namespace + "/" + second}
	kept := []string{
		"CustomResourceDefinition tills." + w.group + ", because " + second + " was installed during the removal",
		"CustomResourceDefinition " + crd.Name + ", because " + w.Namespace + "/proxy.v1.0.0 has or needs it",
	}
	if !slices.Equal(all.Removed, removed) || !slices.Equal(all.Kept, kept) {
		t.Errorf("removed are %q, kept %q", all.Removed, all.Kept)
	}
	w.AwaitGone(next)
	for _, stays := range []client.Object{crd, byHand, handed} {
		w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(stays), stays))
	}
}

// Both versions of an upgrade that did not succeed are removed: the one that stayed would work again, or would be installed again.
func TestRemovalAfterAFailedUpgrade(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		named      string
		phase      v1alpha1.Phase
		reason     string
		nextPhase  v1alpha1.Phase
		nextReason string
	}{
		"rolled back": {first, v1alpha1.PhaseSucceeded, phase.ReasonInstallSucceeded, v1alpha1.PhaseReplacing, phase.ReasonRolledBack},
		"failed":      {second, v1alpha1.PhaseReplacing, phase.ReasonBeingReplaced, v1alpha1.PhaseFailed, phase.ReasonInstallWaiting},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{T: t, Env: localtest.Shared(t)}
			w.connect()
			sub, old, next := w.subscribe("shop"), w.csv(memcached), w.csv(version("0.0.2", "0.0.1"))
			w.Add(sub, old, next)
			sub.Status.InstalledCSV, sub.Status.CurrentCSV = one.named, one.named
			old.Status.Phase, old.Status.Reason = one.phase, one.reason
			next.Status.Phase, next.Status.Reason = one.nextPhase, one.nextReason
			w.Must(errors.Join(w.Status().Update(t.Context(), sub), w.Status().Update(t.Context(), old), w.Status().Update(t.Context(), next)))
			connection, err := kube.New(w.Config, "operon-olm")
			w.Must(err)
			all, err := change.Plan(t.Context(), connection, w.Namespace, sub.Name, false)
			w.Must(err)
			want := []string{"ClusterServiceVersion " + w.Namespace + "/" + first, "ClusterServiceVersion " + w.Namespace + "/" + second, "Subscription " + w.Namespace + "/" + sub.Name}
			if planned := slices.Sorted(slices.Values(all.Removed)); !slices.Equal(planned, want) {
				t.Errorf("would remove %q, want %q", planned, want)
			}
			ctx, cancel := context.WithTimeout(t.Context(), localtest.Patience)
			defer cancel()
			w.Must(all.Run(ctx, connection, func(string) {}))
			if removed := slices.Sorted(slices.Values(all.Removed)); !slices.Equal(removed, want) {
				t.Errorf("removed are %q, want %q", removed, want)
			}
			if left := w.state(connection).Versions; len(left) > 0 {
				t.Errorf("left are %+v", left)
			}
		})
	}
}

// runs returns a Deployment without pods of a version.
func (w *world) runs(name string, of *v1alpha1.ClusterServiceVersion) *appsv1.Deployment {
	made := &appsv1.Deployment{ObjectMeta: w.Named(name)}
	made.Labels = render.Labels(of)
	made.Spec.Replicas, made.Spec.Selector = new(int32), &metav1.LabelSelector{MatchLabels: map[string]string{"name": name}}
	made.Spec.Template.Labels = map[string]string{"name": name}
	made.Spec.Template.Spec.Containers = []corev1.Container{{Name: name, Image: name}}
	return made
}

// Nothing is removed if the command could not wait for what the operator runs.
func TestRemovalWithoutPermission(t *testing.T) {
	t.Parallel()
	w := &world{T: t, Env: localtest.Shared(t)}
	w.connect()
	sub, user := w.subscribe("shop"), w.Namespace+"-remover"
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"operators.coreos.com"}, Resources: []string{"*"}, Verbs: []string{"*"}}}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	w.Cleanup(func() {
		for _, object := range []client.Object{role, binding} {
			w.Must(client.IgnoreNotFound(w.Delete(context.WithoutCancel(w.Context()), object)))
		}
	})
	w.Add(role, binding, sub)
	config := rest.CopyConfig(w.Config)
	config.Impersonate.UserName = user
	connection, err := kube.New(config, "operon-olm")
	w.Must(err)
	localtest.Eventually(t, "the permission that is missing", func(ctx context.Context) error {
		all, err := change.Plan(ctx, connection, w.Namespace, sub.Name, false)
		if want := "you may not list deployments.apps in namespace " + w.Namespace; err == nil || err.Error() != want {
			return fmt.Errorf("planned is %+v, error %w, want %s", all, err, want)
		}
		return nil
	})
}
