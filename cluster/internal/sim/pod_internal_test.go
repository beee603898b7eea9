package sim

import (
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestCrashBackoffDoublesUpToItsMaximum(t *testing.T) {
	t.Parallel()
	for restarts, want := range map[int32]time.Duration{
		1: 10 * time.Second, 2: 20 * time.Second, 5: 160 * time.Second, 6: 5 * time.Minute, 1000: 5 * time.Minute,
	} {
		if got := crashBackoff(restarts); got != want {
			t.Errorf("after %d restarts: %v, want %v", restarts, got, want)
		}
	}
}

// The time between two crashes is the complete back-off.
func TestNextCrashIsDueAfterItsBackoff(t *testing.T) {
	t.Parallel()
	crashed := metav1.Unix(1000, 0)
	pod := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		RestartCount:         2,
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: crashed}},
	}}}}
	words := podWords{Wants: podCrashed, Is: podCrashed}
	words.scheduleCrash(pod)
	if want := crashed.Add(20 * time.Second).Format(time.RFC3339Nano); words.Due != want || words.Restarts != 3 || words.Backoff != "40s" {
		t.Errorf("got %+v: want it due at %s as restart 3", words, want)
	}
	words = podWords{Wants: podCrashed, Is: podReady}
	words.scheduleCrash(pod)
	if words.Due != "" {
		t.Errorf("a running pod crashes at %s: want now", words.Due)
	}
}

// A node keeps its address as long as a pod of the host network uses it, also one of an earlier process.
func TestAddressOfANodeOutlivesItsPods(t *testing.T) {
	t.Parallel()
	pod := func(uid types.UID, address string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{UID: uid},
			Spec:       corev1.PodSpec{NodeName: "node-0", HostNetwork: true},
			Status:     corev1.PodStatus{PodIP: address},
		}
	}
	const address = "198.18.0.7"
	p := &pods{addresses: newAddresses(netip.MustParsePrefix("198.18.0.0/16")), arrivals: newArrivals()}
	p.only([]*corev1.Pod{pod("one", address), pod("two", address)})
	p.gone(pod("one", address))
	p.only([]*corev1.Pod{pod("two", address)})
	for _, uid := range []types.UID{"two", "new"} {
		words, err := p.words(pod(uid, ""), nodeReady)
		if err != nil || words.Address != address || words.HostAddress != address {
			t.Errorf("pod %s has %s on host %s, error %v: want %s", uid, words.Address, words.HostAddress, err, address)
		}
	}
	p.only(nil)
	if len(p.addresses.of) != 0 {
		t.Errorf("without pods, these addresses are kept: %v", p.addresses.of)
	}
}

func TestConditionKeepsTheTimeOfItsTransition(t *testing.T) {
	t.Parallel()
	doc := document{"status": document{"conditions": []any{
		document{"type": "Ready", "status": "True", "lastTransitionTime": "2001-02-03T04:05:06Z"},
	}}}
	same := condition(doc, "Ready", "True", nil)
	if same["lastTransitionTime"] != "2001-02-03T04:05:06Z" {
		t.Errorf("a condition that stays has a new time: %v", same)
	}
	other := condition(doc, "Ready", "False", []string{"Reason", "message"})
	if other["lastTransitionTime"] == "2001-02-03T04:05:06Z" || other["reason"] != "Reason" || other["message"] != "message" {
		t.Errorf("a condition that changes: %v", other)
	}
}
