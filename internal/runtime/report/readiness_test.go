package report

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestReadinessIsComparedWithWhatWasLogged(t *testing.T) {
	t.Parallel()
	none, ready := metav1.Condition{}, metav1.Condition{Status: "True", Reason: "Ready"}
	var r Readiness
	if before := r.Become("Test", Transition{none, ready}); before.status != "" {
		t.Errorf("at first it was %v", before)
	}
	if before := r.Become("Test", Transition{none, ready}); before.status != "True" {
		t.Errorf("the cache lags, and so it was %v", before)
	}
	r.Forget("Test")
	if before := r.Become("Test", Transition{ready, ready}); before.status != "True" || before.logged {
		t.Errorf("after a restart it was %v, want what the object's status says", before)
	}
}
