package track

import (
	"context"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/wire"
)

// A kind that is read and missing is asked for after firstLook and then ever later, up to
// lastLook. To watch CRDs would need a permission that most operators lack.
const (
	firstLook = time.Second
	lastLook  = 10 * time.Second
)

// lack lets the reader be queued when a kind comes.
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

// await looks for a kind until it is there or nobody wants it any more.
func (t *Tracker) await(kind schema.GroupVersionKind) {
	timer := time.NewTimer(firstLook)
	defer timer.Stop()
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		timer.Reset(pause)
		select {
		case <-t.life.Done():
			return
		case <-timer.C:
		}
		readers, wanted := t.lacking(kind)
		if !wanted {
			return
		}
		if t.exists(kind) {
			t.came(kind)
			tell(readers, ofKind(kind, appeared, "the cluster has the kind now"))
			return
		}
	}
}

// lacking are the readers of a missing kind. Of one that nobody wants, nothing is kept.
func (t *Tracker) lacking(kind schema.GroupVersionKind) ([]reader, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.missing[kind]) == 0 {
		delete(t.missing, kind)
		return nil, false
	}
	return slices.Collect(maps.Keys(t.missing[kind])), true
}

func (t *Tracker) came(kind schema.GroupVersionKind) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.missing, kind)
}

// exists asks the API server itself: what is known of kinds may be of before one went. Any
// answer but that the kind is not found, a refusal too, comes from a kind that is there.
func (t *Tracker) exists(kind schema.GroupVersionKind) bool {
	endpoint, err := t.Wire.Endpoint(kind, wire.Metadata)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(t.life, syncDeadline)
	defer cancel()
	_, err = endpoint.List(ctx, "", metav1.ListOptions{Limit: 1})
	return err == nil || apierrors.IsForbidden(err)
}
