package watches

import (
	"context"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// lack registers the reader to be queued when a missing kind appears.
func (s *Session) lack(kind schema.GroupVersionKind) {
	s.lacks = append(s.lacks, kind)
	t := s.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.missing[kind] == nil {
		t.missing[kind] = map[reader]bool{}
		go t.await(kind)
	}
	t.missing[kind][s.reader] = true
}

// await looks up a kind repeatedly until it exists or has no reader any more.
func (t *Tracker) await(kind schema.GroupVersionKind) {
	timer := time.NewTimer(timing.firstLook)
	defer timer.Stop()
	for pause := timing.firstLook; ; pause = min(2*pause, timing.lastLook) {
		timer.Reset(pause)
		select {
		case <-t.life.Done():
			return
		case <-timer.C:
		}
		if !t.lacked(kind) {
			return
		}
		if t.exists(kind) {
			tell(t.came(kind), ofKind(kind, appeared, "the cluster has the kind now"))
			return
		}
	}
}

// lacked reports whether a missing kind has readers. For a kind without readers, nothing is stored.
func (t *Tracker) lacked(kind schema.GroupVersionKind) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.missing[kind]) == 0 {
		delete(t.missing, kind)
		return false
	}
	return true
}

// came returns the readers of a kind that is no longer missing, including those that looked it up
// while it appeared.
func (t *Tracker) came(kind schema.GroupVersionKind) []reader {
	t.mu.Lock()
	defer t.mu.Unlock()
	readers := slices.Collect(maps.Keys(t.missing[kind]))
	delete(t.missing, kind)
	return readers
}

// exists queries the API server itself: the known kinds may be outdated since a kind was removed. Any
// answer other than that the kind is not found, including a refusal, comes from an existing kind.
func (t *Tracker) exists(kind schema.GroupVersionKind) bool {
	endpoint, err := t.Wire.Endpoint(kind, resourceclient.Metadata)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(t.life, timing.syncDeadline)
	defer cancel()
	namespace := ""
	if len(t.Namespaces) > 0 && t.Wire.Namespaced(kind) {
		namespace = t.Namespaces[0] // in other namespaces it is refused, whether the kind exists or not
	}
	_, err = endpoint.List(ctx, namespace, metav1.ListOptions{Limit: 1})
	return err == nil || apierrors.IsForbidden(err)
}
