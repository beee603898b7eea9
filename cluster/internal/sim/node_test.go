package sim_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/cluster/internal/sim"
)

// newNode creates a separate node for the test. No pods are scheduled to it.
func newNode(t *testing.T, labels map[string]string) string {
	t.Helper()
	node, err := plane.client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "own-", Labels: labels},
		Spec:       corev1.NodeSpec{Unschedulable: true},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := plane.client.CoreV1().Nodes().Delete(context.Background(), node.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	return node.Name
}

func simulated() map[string]string { return map[string]string{sim.NodeLabel: "true"} }

func awaitNode(t *testing.T, name, what string, want func(*corev1.Node) bool) *corev1.Node {
	t.Helper()
	return await(t, what+" node", func(ctx context.Context) (*corev1.Node, error) {
		return plane.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	}, want)
}

func nodeReady(status corev1.ConditionStatus) func(*corev1.Node) bool {
	return func(node *corev1.Node) bool {
		return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == status
		})
	}
}

func tainted(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Key == corev1.TaintNodeUnreachable && taint.Effect == corev1.TaintEffectNoExecute
	})
}

func annotateNode(t *testing.T, name, patch string) {
	t.Helper()
	patch = fmt.Sprintf(`{"metadata":{"annotations":%s}}`, patch)
	_, err := plane.client.CoreV1().Nodes().Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func TestNodeIsReadyAndHeardOf(t *testing.T) {
	t.Parallel()
	client := simulate(t)
	node := awaitNode(t, "node-0", "ready", nodeReady(corev1.ConditionTrue))
	if cpu := node.Status.Allocatable.Cpu().Value(); cpu != 64 {
		t.Errorf("%d CPUs: want 64", cpu)
	}
	lease := await(t, "lease", func(ctx context.Context) (metav1.Object, error) {
		return client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, "node-0", metav1.GetOptions{})
	}, func(metav1.Object) bool { return true })
	if owners := lease.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != node.UID {
		t.Errorf("the lease is owned by %v: want the node", owners)
	}
}

func TestLostNodeAndItsReturn(t *testing.T) {
	t.Parallel()
	simulate(t)
	namespace, node := newNamespace(t), newNode(t, simulated())
	awaitNode(t, node, "ready", nodeReady(corev1.ConditionTrue))
	spec := podSpec()
	spec.NodeName = node
	createPod(t, namespace, nil, spec)
	awaitPod(t, namespace, "ready", ready)

	annotateNode(t, node, `{"sim.operon.dev/fail":"lost"}`)
	awaitNode(t, node, "lost", nodeReady(corev1.ConditionUnknown))
	awaitPod(t, namespace, "cut off", func(pod *corev1.Pod) bool {
		return condition(pod, corev1.PodReady).Reason == "NodeLost"
	})
	awaitNode(t, node, "tainted", tainted)

	annotateNode(t, node, `null`)
	awaitNode(t, node, "untainted and ready", func(node *corev1.Node) bool {
		return nodeReady(corev1.ConditionTrue)(node) && !tainted(node)
	})
	awaitPod(t, namespace, "ready", ready)
}

// A pod that is deleted while its node is lost is not removed until the node returns.
func TestPodOfALostNodeCannotBeDeleted(t *testing.T) {
	t.Parallel()
	client := simulate(t)
	namespace, node := newNamespace(t), newNode(t, simulated())
	spec := podSpec()
	spec.NodeName = node
	createPod(t, namespace, nil, spec)
	awaitPod(t, namespace, "ready", ready)
	annotateNode(t, node, `{"sim.operon.dev/fail":"lost"}`)
	awaitPod(t, namespace, "cut off", notReady)
	if err := client.CoreV1().Pods(namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	// If the deletion were executed, this would happen before a later pod is ready.
	other := newNamespace(t)
	createPod(t, other, nil, podSpec())
	awaitPod(t, other, "ready", ready)
	if pod, err := getPod(namespace)(t.Context()); err != nil || pod.DeletionTimestamp == nil {
		t.Fatalf("pod %v, error %v: want one that is being deleted", pod, err)
	}
	annotateNode(t, node, `null`)
	awaitGone(t, "pod", getPod(namespace))
}

// One pod can be on a lost node while the other pods on the same node are not affected.
func TestPodThatLosesItsNode(t *testing.T) {
	t.Parallel()
	client := simulate(t)
	namespace, other := newNamespace(t), newNamespace(t)
	createPod(t, namespace, nil, podSpec())
	awaitPod(t, namespace, "ready", ready)
	patchPod(t, namespace, `{"metadata":{"annotations":{"sim.operon.dev/fail":"lost"}}}`)
	awaitPod(t, namespace, "cut off", func(pod *corev1.Pod) bool {
		return condition(pod, corev1.PodReady).Reason == "NodeLost"
	})
	if err := client.CoreV1().Pods(namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	createPod(t, other, nil, podSpec())
	awaitPod(t, other, "ready", ready)
	if pod, err := getPod(namespace)(t.Context()); err != nil || pod.DeletionTimestamp == nil {
		t.Fatalf("pod %v, error %v: want one that is being deleted", pod, err)
	}
	patchPod(t, namespace, `{"metadata":{"annotations":{"sim.operon.dev/fail":null}}}`)
	awaitGone(t, "pod", getPod(namespace))
}

func TestUnknownFailureOfANodeIsReported(t *testing.T) {
	t.Parallel()
	simulate(t)
	node := newNode(t, simulated())
	annotateNode(t, node, `{"sim.operon.dev/fail":"explode"}`)
	message := awaitEvent(t, metav1.NamespaceDefault, node, "InvalidAnnotation")
	if want := `"explode" is not known; use lost`; !strings.Contains(message, want) {
		t.Errorf("event says %q: want %q in it", message, want)
	}
	awaitNode(t, node, "ready", nodeReady(corev1.ConditionTrue))
}

func TestOtherNodesAreLeftAlone(t *testing.T) {
	t.Parallel()
	simulate(t)
	namespace, foreign := newNamespace(t), newNode(t, nil)
	spec := podSpec()
	spec.NodeName = foreign
	createPod(t, namespace, nil, spec)
	// When a later pod is ready, this pod has already been handled.
	other := newNamespace(t)
	createPod(t, other, nil, podSpec())
	awaitPod(t, other, "ready", ready)
	pod, err := getPod(namespace)(t.Context())
	if err != nil || len(pod.Status.ContainerStatuses) != 0 {
		t.Errorf("error %v, status %s: want it untouched", err, asYAML(pod.Status))
	}
	// If the node becomes a simulated one, its pods do, too.
	_, err = plane.client.CoreV1().Nodes().Patch(t.Context(), foreign, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"sim.operon.dev/node":"true"}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	awaitPod(t, namespace, "ready", ready)
}
