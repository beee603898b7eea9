package reconcile

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// readyStates remember what was last told of the readiness of each object. The cache may
// show for a moment what was there before our own write, which would be told twice.
type readyStates struct {
	kind string
	mu   sync.Mutex
	of   map[types.NamespacedName]readyState
}

// readyState is a Ready condition without its prose.
type readyState struct {
	status metav1.ConditionStatus
	reason string
}

func stateOf(ready metav1.Condition) readyState { return readyState{ready.Status, ready.Reason} }

// become notes the state of an object, and returns the one before: what was told last, or
// else what the object itself said.
func (s *readyStates) become(key types.NamespacedName, read, now readyState) (before readyState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, told := s.of[key]
	if s.of == nil {
		s.of = map[types.NamespacedName]readyState{}
	}
	s.of[key] = now
	objectsReady.WithLabelValues(s.kind, string(now.status)).Inc()
	if !told {
		return read
	}
	objectsReady.WithLabelValues(s.kind, string(before.status)).Dec()
	return before
}

// forget drops an object that is gone.
func (s *readyStates) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, told := s.of[key]; told {
		objectsReady.WithLabelValues(s.kind, string(last.status)).Dec()
		delete(s.of, key)
	}
}
