package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/olm/change"
	"github.com/operon-framework/operon/local/localtest"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/phase"
	"github.com/operon-framework/operon/internal/testing/registrytest"
	"github.com/operon-framework/operon/olm/internal/csv"
)

// fastClock is ahead of the real time.
type fastClock struct {
	clock.PassiveClock
	ahead atomic.Int64
}

func (c *fastClock) Now() time.Time { return c.PassiveClock.Now().Add(time.Duration(c.ahead.Load())) }

// newFastWorld runs a manager with a clock that is ahead.
func newFastWorld(t *testing.T) (*world, *registrytest.Registry, *fastClock) {
	t.Helper()
	ahead := &fastClock{PassiveClock: clock.RealClock{}}
	w := &world{T: t, Env: localtest.Shared(t), csvs: &csv.Composer{Clock: ahead}}
	w.connect()
	w.run(w.Namespace)
	return w, registrytest.New(t), ahead
}

// failing returns a version whose pods do not become ready.
func failing(text string) string {
	return strings.Replace(text, "metadata: {labels: {name: memcached-operator}}", "metadata: {labels: {name: memcached-operator}, annotations: {sim.operon.dev/fail: image-pull}}", 1)
}

// A version that does not become available goes if the Subscription asks for that, and the version before works again, with the same pod and its
// own objects. It is not installed again until the annotation is removed, or the catalog has another image for it.
func TestRollback(t *testing.T) {
	t.Parallel()
	w, r, ahead := newFastWorld(t)
	bundles := map[string]string{"0.0.1": w.settings(r, "0.0.1", memcached)}
	source, sub := w.catalog(r, "shop", bundles, "- {name: memcached-operator.v0.0.1}\n"), w.subscribe("shop")
	sub.Annotations = map[string]string{v1alpha1.AnnotationRollback: "true"}
	w.Add(w.operatorGroup("group"), source, sub)
	old := w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	w.awaitState(first + " AtLatestKnown")
	w.awaitReader(old, first)
	deployment, pod := w.deployment("memcached-operator"), w.readyPod()
	role, binding := &rbacv1.Role{ObjectMeta: w.Named("memcached-role")}, &rbacv1.RoleBinding{ObjectMeta: w.Named("memcached-role")}
	w.Must(errors.Join(w.Get(t.Context(), client.ObjectKeyFromObject(role), role), w.Get(t.Context(), client.ObjectKeyFromObject(binding), binding)))

	bundles["0.0.2"] = w.settings(r, "0.0.2", failing(version("0.0.2", "0.0.1")))
	w.offer(source, w.catalog(r, "failing", bundles, bothVersions))
	w.awaitPods()
	w.patch(sub, `{"metadata":{"annotations":{"operon.dev/paused":"true"}}}`)
	next := w.timeOut(ahead)
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	w.quiet()
	w.AwaitPhase(second, v1alpha1.PhaseReplacing, phase.ReasonRolledBack) // until the Subscription knows, which would install it again
	w.patch(sub, `{"metadata":{"annotations":{"operon.dev/paused":null}}}`)
	w.AwaitGone(next)
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	w.awaitState(first + " UpgradeFailed")
	w.awaitSettings("0.0.1", first)
	w.awaitReader(old, first)
	w.quiet()
	w.awaitState(first + " UpgradeFailed")
	if now := w.deployment("memcached-operator"); now.UID != deployment.UID || now.Spec.Template.Spec.Containers[0].Image != "memcached-operator:0.0.1" {
		t.Errorf("the Deployment is %s with the image %s, want %s", now.UID, now.Spec.Template.Spec.Containers[0].Image, deployment.UID)
	}
	if now := w.readyPod(); now != pod {
		t.Errorf("the pod is %s, want %s", now, pod)
	}
	for _, before := range []client.Object{role, binding} {
		now := before.DeepCopyObject().(client.Object)
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(now), now); err != nil || now.GetUID() != before.GetUID() {
			t.Errorf("%T %s was created again, or is missing: error %v", before, before.GetName(), err)
		}
	}
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(sub), sub))
	if all := sub.Status.RolledBack; len(all) != 1 || all[0].Name != second || all[0].Replaced != first || all[0].Image != bundles["0.0.2"] ||
		!strings.Contains(all[0].Message, "rolled back to memcached-operator.v0.0.1: install timeout after 5m0s: waiting for deployment memcached-operator to become ready") {
		t.Errorf("the status has %+v", all)
	}

	w.patch(sub, `{"metadata":{"annotations":{"olm.operon.dev/rollback":null}}}`)
	w.awaitPods()
	w.timeOut(ahead)
	w.AwaitPhase(second, v1alpha1.PhaseFailed, phase.ReasonInstallCheckFailed)
	w.patch(sub, `{"metadata":{"annotations":{"olm.operon.dev/rollback":"true"}}}`)
	w.AwaitGone(next)
	w.awaitState(first + " UpgradeFailed")

	bundles["0.0.2"] = w.settings(r, "0.0.2-fixed", version("0.0.2", "0.0.1"))
	w.offer(source, w.catalog(r, "fixed", bundles, bothVersions))
	w.awaitState(second + " AtLatestKnown")
	w.AwaitGone(old)
	w.awaitSettings("0.0.2-fixed", second)
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(sub), sub))
	if len(sub.Status.RolledBack) > 0 {
		t.Errorf("the status has %+v", sub.Status.RolledBack)
	}
}

const bothVersions = "- {name: memcached-operator.v0.0.1}\n- {name: memcached-operator.v0.0.2, replaces: memcached-operator.v0.0.1}\n"

// Managers that are killed after every write of a rollback leave nothing that the next one cannot continue.
func TestKilledRollback(t *testing.T) {
	t.Parallel()
	ahead := &fastClock{PassiveClock: clock.RealClock{}}
	w, k := newKilledWorld(t, ahead)
	r := registrytest.New(t)
	bundles := map[string]string{"0.0.1": w.settings(r, "0.0.1", memcached)}
	source, sub := w.catalog(r, "shop", bundles, "- {name: memcached-operator.v0.0.1}\n"), w.subscribe("shop")
	sub.Annotations = map[string]string{v1alpha1.AnnotationRollback: "true"}
	w.Add(w.operatorGroup("group"), source, sub)
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	w.awaitState(first + " AtLatestKnown")
	w.quiet()
	before, err := w.contents(t.Context(), nil)
	w.Must(err)
	pod := w.readyPod()
	bundles["0.0.2"] = w.settings(r, "0.0.2", failing(version("0.0.2", "0.0.1")))
	w.offer(source, w.catalog(r, "failing", bundles, bothVersions))
	w.awaitPods()
	w.quiet() // the time counts from the start of the last manager
	k.arm(1)
	w.AwaitGone(w.timeOut(ahead))
	w.awaitState(first + " UpgradeFailed")
	w.awaitSettings("0.0.1", first)
	w.eventually("the objects are those before the upgrade", func(ctx context.Context) error {
		if now, err := w.contents(ctx, nil); err != nil || now.counts() != before.counts() {
			return fmt.Errorf("there are %s, want %s, error %w", now.counts(), before.counts(), err)
		}
		return nil
	})
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	kills := k.arm(0)
	t.Logf("%d kills", kills)
	if kills < 20 {
		t.Errorf("the manager was killed %d times", kills)
	}
	if now := w.readyPod(); now != pod {
		t.Errorf("the pod is %s, want %s", now, pod)
	}
}

// awaitPods waits until the second version waits for its pods.
func (w *world) awaitPods() {
	w.Helper()
	w.Await(second, "waits for its pods", func(csv *v1alpha1.ClusterServiceVersion) bool {
		return csv.Status.Phase == v1alpha1.PhaseInstalling && strings.HasSuffix(csv.Status.Message, "1 old replicas are pending termination")
	})
	w.awaitSettings("0.0.2", second)
}

// timeOut makes the second version wait for too long, and returns it.
func (w *world) timeOut(ahead *fastClock) *v1alpha1.ClusterServiceVersion {
	w.Helper()
	next, later := &v1alpha1.ClusterServiceVersion{ObjectMeta: w.Named(second)}, ahead.ahead.Add(int64(phase.Limit+time.Second))
	w.patch(next, fmt.Sprintf(`{"metadata":{"labels":{"later":"%d"}}}`, later))
	return next
}

// settings pushes a bundle with a ConfigMap that has a text of its own.
func (w *world) settings(r *registrytest.Registry, text, csv string) string {
	w.Helper()
	w.more = maps.Clone(roles)
	maps.Copy(w.more, map[string]string{
		"manifests/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: memcached-config}\ndata: {text: " + text + "}\n",
		"manifests/reader.yaml": "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: " + w.Namespace + "-reader}\nrules: [{nonResourceURLs: [/" + text + "], verbs: [get]}]\n",
	})
	return w.bundle(r, text, csv)
}

// offer changes the image of a catalog to that of another one.
func (w *world) offer(source, other *v1alpha1.CatalogSource) {
	w.Helper()
	w.patch(source, fmt.Sprintf(`{"spec":{"image":%q}}`, other.Spec.Image))
}

// awaitSettings waits until the objects of a bundle have a text, and belong to a version.
func (w *world) awaitSettings(text, version string) {
	w.Helper()
	w.eventually("the objects have the text "+text, func(ctx context.Context) error {
		config := &corev1.ConfigMap{ObjectMeta: w.Named("memcached-config")}
		if err := w.Get(ctx, client.ObjectKeyFromObject(config), config); err != nil {
			return err
		}
		if config.Data["text"] != text || config.Labels["olm.owner"] != version {
			return fmt.Errorf("the ConfigMap has %q and belongs to %s", config.Data["text"], config.Labels["olm.owner"])
		}
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace + "-reader"}}
		if err := w.Get(ctx, client.ObjectKeyFromObject(role), role); err != nil {
			return err
		}
		if path := role.Rules[0].NonResourceURLs[0]; path != "/"+text || role.Labels["olm.owner"] != version {
			return fmt.Errorf("the ClusterRole is for %s and belongs to %s", path, role.Labels["olm.owner"])
		}
		return nil
	})
}

// readyPod returns the UID of the pod of the operator that is ready.
func (w *world) readyPod() string {
	w.Helper()
	var ready []string
	var pods corev1.PodList
	w.Must(w.List(w.Context(), &pods, client.InNamespace(w.Namespace), client.MatchingLabels{"name": "memcached-operator"}))
	for _, pod := range pods.Items {
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil {
				ready = append(ready, string(pod.UID))
			}
		}
	}
	if len(ready) != 1 {
		w.Fatalf("the ready pods are %v of %d", ready, len(pods.Items))
	}
	return ready[0]
}

// A version is not rolled back if the one before could not work again. An event says why.
func TestRollbackThatCannotWork(t *testing.T) {
	t.Parallel()
	w, r, ahead := newFastWorld(t)
	bundles := map[string]string{"0.0.1": w.settings(r, "0.0.1", memcached)}
	source, sub := w.catalog(r, "shop", bundles, "- {name: memcached-operator.v0.0.1}\n"), w.subscribe("shop")
	sub.Annotations = map[string]string{v1alpha1.AnnotationRollback: "true"}
	w.Add(w.operatorGroup("group"), source, sub)
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	w.awaitState(first + " AtLatestKnown")

	crd := w.definition()
	crd.APIVersion, crd.Kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
	next := crd.Spec.Versions[0].DeepCopy()
	next.Name, next.Storage = "v1beta1", false
	crd.Spec.Versions[0].Served = false
	crd.Spec.Versions = append(crd.Spec.Versions, *next)
	text, err := json.Marshal(crd)
	w.Must(err)
	w.more = map[string]string{"manifests/crd.json": string(text)}
	bundles["0.0.2"] = w.bundle(r, "0.0.2", strings.ReplaceAll(failing(version("0.0.2", "0.0.1")), "v1alpha1, kind: Memcached", "v1beta1, kind: Memcached"))
	w.offer(source, w.catalog(r, "failing", bundles, bothVersions))
	w.Await(second, "waits for its pods", func(csv *v1alpha1.ClusterServiceVersion) bool {
		return csv.Status.Phase == v1alpha1.PhaseInstalling && strings.HasSuffix(csv.Status.Message, "1 old replicas are pending termination")
	})
	w.timeOut(ahead)
	w.AwaitPhase(second, v1alpha1.PhaseFailed, phase.ReasonInstallCheckFailed)
	localtest.Eventually(t, "an event says why", func(ctx context.Context) error {
		var events corev1.EventList
		if err := w.List(ctx, &events, client.InNamespace(w.Namespace)); err != nil {
			return err
		}
		want := first + " cannot work again: the cluster does not serve v1alpha1 of the CustomResourceDefinition " + crd.Name
		for _, one := range events.Items {
			if one.Reason == "NotRolledBack" && one.Type == "Warning" && one.InvolvedObject.Name == second && one.Message == want {
				return nil
			}
		}
		return fmt.Errorf("it is none of %d events", len(events.Items))
	})
	w.AwaitPhase(second, v1alpha1.PhaseFailed, phase.ReasonInstallCheckFailed)
	w.AwaitPhase(first, v1alpha1.PhaseReplacing, phase.ReasonBeingReplaced)
}

// With manual approval, the plan that restores the objects of the version before waits. The Subscription names it beside the reason why nothing is
// upgraded.
func TestRollbackThatWaitsForApproval(t *testing.T) {
	t.Parallel()
	w, r, ahead := newFastWorld(t)
	bundles := map[string]string{"0.0.1": w.settings(r, "0.0.1", memcached)}
	source, sub := w.catalog(r, "shop", bundles, "- {name: memcached-operator.v0.0.1}\n"), w.subscribe("shop")
	sub.Annotations = map[string]string{v1alpha1.AnnotationRollback: "true"}
	sub.Spec.InstallPlanApproval = v1alpha1.Manual
	w.Add(w.operatorGroup("group"), source, sub)
	w.approve(w.planOf(first))
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	w.awaitState(first + " AtLatestKnown")
	bundles["0.0.2"] = w.settings(r, "0.0.2", failing(version("0.0.2", "0.0.1")))
	w.offer(source, w.catalog(r, "failing", bundles, bothVersions))
	w.approve(w.planOf(second))
	w.awaitPods()
	w.AwaitGone(w.timeOut(ahead))
	w.awaitConditions(sub, "ResolutionFailed=True RolledBack", "InstallPlanPending=True RequiresApproval the InstallPlan ")
	w.quiet()
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(sub), sub))
	restores := w.awaitPlan(sub.Status.InstallPlanRef.Name, v1alpha1.PlanRequiresApproval)
	w.approve(restores)
	connection, err := kube.New(w.Config, "test")
	w.Must(err)
	ctx, cancel := context.WithTimeout(t.Context(), localtest.Patience)
	defer cancel()
	w.Must(change.Await(ctx, connection, w.Namespace, sub.Name, first, func(string) {}))
	if err := w.Get(ctx, client.ObjectKeyFromObject(restores), restores); client.IgnoreNotFound(err) != nil || err == nil && restores.Status.Phase != v1alpha1.PlanComplete {
		t.Errorf("after the upgrade, the plan is %s, error %v", restores.Status.Phase, err)
	}
	w.awaitSettings("0.0.1", first)
	localtest.Eventually(t, "no plan waits", func(ctx context.Context) error {
		err := w.Get(ctx, client.ObjectKeyFromObject(sub), sub)
		if err == nil && meta.FindStatusCondition(sub.Status.Problems, "InstallPlanPending") != nil {
			return fmt.Errorf("the conditions are %+v", sub.Status.Problems)
		}
		return err
	})
	w.awaitState(first + " UpgradeFailed")
}
