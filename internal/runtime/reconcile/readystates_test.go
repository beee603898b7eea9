package reconcile

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestReadinessIsComparedWithWhatWasTold(t *testing.T) {
	t.Parallel()
	s := readyStates{kind: "Test"}
	key := types.NamespacedName{Name: "a"}
	none, ready := readyState{}, readyState{"True", "Ready"}
	if before := s.become(key, none, ready); before != none {
		t.Errorf("at first it was %v", before)
	}
	if before := s.become(key, none, ready); before != ready {
		t.Errorf("the cache lags, and so it was %v", before)
	}
	s.forget(key)
	if len(s.of) > 0 {
		t.Errorf("%d objects are held", len(s.of))
	}
	if before := s.become(key, ready, ready); before != ready {
		t.Errorf("after a restart it was %v, want what the object says", before)
	}
}
