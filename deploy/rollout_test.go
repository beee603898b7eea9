package deploy

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/operon-framework/operon/generate/install"
)

// A pod that is not ready is no trouble before that stands; one that waits for something strange is at once. Either is
// told once.
func TestTroubleIsToldWhenItIsNotUsual(t *testing.T) {
	t.Parallel()
	starting := corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	strange := corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "Strange"}}}
	for name, test := range map[string]struct {
		status       corev1.ContainerStatus
		first, later int
	}{
		"starting": {starting, 0, 1},
		"strange":  {strange, 1, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			var said bytes.Buffer
			r := &rollout{target: Target{Progress: &said}}
			look := func() int {
				pod := corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{test.status}}}
				if err := r.judge(t.Context(), &appsv1.Deployment{}, []corev1.Pod{pod}); err != nil {
					t.Error(err)
				}
				return bytes.Count(said.Bytes(), []byte("\n"))
			}
			if got := look(); got != test.first {
				t.Errorf("%s: at first %d lines were said\n%s", name, got, &said)
			}
			for range 3 {
				time.Sleep(grace) // which takes no time in a bubble
				if got := look(); got != test.later {
					t.Errorf("%s: later %d lines were said\n%s", name, got, &said)
				}
			}
		})
	}
}

// Webhooks are asked in the namespaces that the operator works in: about others, API servers do not ask it.
func TestWhereWebhooksAreAsked(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		watch        []string
		sample, want string
	}{
		{nil, "", "default"},
		{nil, "a", "a"},
		{[]string{"b", "a"}, "", "b"},
		{[]string{"b", "a"}, "a", "a"},
		{[]string{"b", "a"}, "c", "b"},
	} {
		d := &deployer{operator: install.Operator{Watch: test.watch}}
		if got := d.asked(test.sample); got != test.want {
			t.Errorf("%+v: asked in %q", test, got)
		}
	}
}
