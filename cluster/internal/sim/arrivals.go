package sim

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// arrivals records when delayed pods were assigned to their nodes. Their status has only a resolution of seconds, which is too
// coarse for shorter delays.
type arrivals struct {
	mu sync.Mutex
	at map[types.UID]time.Time
}

func newArrivals() *arrivals { return &arrivals{at: map[types.UID]time.Time{}} }

// note records that the pod was assigned now, unless it was recorded before or is not delayed.
func (a *arrivals) note(pod *corev1.Pod) {
	if _, held := pod.Annotations[StartAfterAnnotation]; !held {
		return
	}
	at := time.Now()
	if pod.Status.StartTime != nil {
		at = pod.Status.StartTime.Time
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, noted := a.at[pod.UID]; !noted {
		a.at[pod.UID] = at
	}
}

// of returns when the pod was assigned to its node. For a pod that was not recorded, this is now.
func (a *arrivals) of(pod *corev1.Pod) time.Time {
	a.note(pod)
	a.mu.Lock()
	defer a.mu.Unlock()
	if at, noted := a.at[pod.UID]; noted {
		return at
	}
	return time.Now()
}

func (a *arrivals) forget(uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.at, uid)
}

func (a *arrivals) retain(uids sets.Set[types.UID]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for uid := range a.at {
		if !uids.Has(uid) {
			delete(a.at, uid)
		}
	}
}
