package helm_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hook returns a template of a Job that is a hook.
func hook(name, events, policies string) string {
	return fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-%s
  annotations:
    helm.sh/hook: %s
    helm.sh/hook-delete-policy: %s
spec:
  backoffLimit: 0
  template:
    metadata:
      annotations: {{ .Values.pod | default dict | toJson }}
    spec:
      restartPolicy: Never
      containers:
      - name: job
        image: job
        args: [{{ .Values.color }}]
`, name, events, policies)
}

// jobUID waits for a Job and returns its UID.
func (s *shop) jobUID(name string, complete bool) string {
	s.Helper()
	job := &batchv1.Job{ObjectMeta: s.named(name)}
	s.eventually("the Job "+name, func(ctx context.Context) error {
		if err := s.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
			return err
		}
		if complete && job.Status.CompletionTime == nil {
			return fmt.Errorf("it is not complete: %+v", job.Status)
		}
		return nil
	})
	return string(job.UID)
}

// A hook before the objects delays them. It runs once for each revision, even if the operator is restarted.
func TestHooksRunOnceForEachRevision(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.write(template("before.yaml"), hook("before", "pre-install,pre-upgrade", "before-hook-creation"))
	s.write(template("after.yaml"), hook("after", "post-install", "hook-succeeded"))
	s.create("one", nil)
	seen, stop := s.run()
	first := s.jobUID("one-before", true)
	s.awaitReady("one")
	s.eventuallyGone(&batchv1.Job{ObjectMeta: s.named("one-after")})
	s.awaitReady("one")
	s.quiet(seen)
	order := seen.writes()
	if before, object, after := place(order, "/jobs"), place(order, "configmaps/one?"), last(order, "POST", "/jobs"); before > object || object > after {
		t.Errorf("the writes are %s: want the first Job before the objects of the chart, and the second after them", strings.Join(order, "\n"))
	}
	stop()

	again, _ := s.run()
	s.quiet(again)
	if writes := again.writes(); len(writes) > 0 {
		t.Errorf("the operator started again and wrote %q", writes)
	}
	if uid := s.jobUID("one-before", true); uid != first {
		t.Error("the hook ran again without a change")
	}
	s.setSpec("one", `{"color":"blue"}`)
	s.eventuallyConfig("one", "color", "blue")
	s.awaitReady("one")
	if uid := s.jobUID("one-before", true); uid == first {
		t.Error("the hook did not run for the next revision")
	}
	s.must(s.Delete(t.Context(), s.till("one", nil)))
	s.eventuallyGone(&batchv1.Job{ObjectMeta: s.named("one-before")})
}

// place returns the index of the first request that contains a text.
func place(requests []string, text string) int {
	for i, request := range requests {
		if strings.Contains(request, text) {
			return i
		}
	}
	return len(requests)
}

// last returns the index of the last request with a method that contains a text.
func last(requests []string, method, text string) int {
	for i := len(requests) - 1; i >= 0; i-- {
		if strings.HasPrefix(requests[i], method) && strings.Contains(requests[i], text) {
			return i
		}
	}
	return -1
}

// A failed hook is not retried for its revision, and nothing of the chart is applied. Other objects are not affected.
func TestFailedHook(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.write(template("before.yaml"), hook("before", "pre-install,pre-upgrade", "hook-failed"))
	s.create("bad", map[string]any{"pod": map[string]any{"sim.operon.dev/fail": "crash-loop"}})
	s.create("good", nil)
	seen, _ := s.run()
	s.awaitReady("good")
	stalled := s.awaitCondition("bad", "Stalled", metav1.ConditionTrue, "StepFailed")
	if !strings.Contains(stalled.Message, "hook Job bad-before: BackoffLimitExceeded") {
		t.Errorf("Stalled has the message %q, want the hook and its failure", stalled.Message)
	}
	s.eventuallyGone(&batchv1.Job{ObjectMeta: s.named("bad-before")})
	s.quiet(seen)
	err := s.Get(t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: "bad"}, &corev1.ConfigMap{})
	if client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("get an object of the chart whose hook failed: %v, want that it does not exist", err)
	}
	s.setSpec("bad", `{"pod":null}`)
	s.awaitReady("bad")
}

// The hooks of a deletion run before and after the objects of the chart are deleted.
func TestHooksOfADeletion(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.write(template("before.yaml"), hook("before", "pre-delete", "hook-succeeded"))
	s.write(template("after.yaml"), hook("after", "post-delete", "hook-succeeded"))
	s.create("one", nil)
	seen, _ := s.run()
	s.awaitReady("one")
	s.must(s.Delete(t.Context(), s.till("one", nil)))
	s.eventuallyGone(s.till("one", nil))
	order := seen.writes()
	first, object, second := place(order, "/jobs"), place(order, "DELETE /api/v1/namespaces/"+s.Namespace+"/configmaps/one"), last(order, "POST", "/jobs")
	if first >= object || object >= second {
		t.Errorf("the writes are %s: want a Job, the deletion of the objects, and the other Job", strings.Join(order, "\n"))
	}
	for _, name := range []string{"one-before", "one-after"} {
		s.eventuallyGone(&batchv1.Job{ObjectMeta: s.named(name)})
	}
}
