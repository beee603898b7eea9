package shard

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patched is a client that records the names of patched objects. err is its response.
type patched struct {
	client.WithWatch
	names []string
	err   error
}

// Patch implements client.Client.
func (p *patched) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
	p.names = append(p.names, object.GetName())
	return p.err
}

// A label that was refused with a conflict is written again, even if the watch delivers no newer version of the object.
func TestAConflictIsRetried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, server := holding(t), &patched{err: apierrors.NewConflict(schema.GroupResource{Resource: "widgets"}, "one", errors.New("modified"))}
		m.Client = server
		l := newLabeller(&union{member: m})
		l.note(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "one", UID: "uid"}}, false)
		again := l.round(t.Context())
		select {
		case <-again:
		case <-time.After(m.timing.lease):
			t.Fatal("the label is not written again")
		}
		server.err = nil
		if again := l.round(t.Context()); again != nil || len(server.names) != 2 || len(l.bare) > 0 {
			t.Errorf("patched %q, still without a label: %v", server.names, l.bare)
		}
	})
}

// An object that appears while the member's lease is late is labeled when the lease has been renewed,
// even without a further watch event.
func TestALateLeaseKeepsNoObjectFromItsLabel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, took := holding(t), &patched{}
		m.Client = took
		l := newLabeller(&union{member: m})
		m.heartbeat.renewed = time.Now().Add(-m.timing.valid)
		l.note(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "appeared", UID: "uid"}}, false)
		again := l.round(t.Context())
		if len(took.names) > 0 {
			t.Fatalf("labelled are %q while others may take them over", took.names)
		}
		m.heartbeat.renewed = time.Now()
		select {
		case <-again:
		case <-time.After(m.timing.lease):
			t.Fatal("nobody looks at it again")
		}
		l.round(t.Context())
		if len(took.names) != 1 {
			t.Errorf("labelled are %q, want the one that appeared", took.names)
		}
	})
}

// Objects of another member are ignored until this member holds their slot.
func TestOthersObjectsAreNotLookedAtAgain(t *testing.T) {
	t.Parallel()
	m := holding(t)
	m.slots.revokeAll()
	l := newLabeller(&union{member: m})
	l.note(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "theirs", UID: "uid"}}, false)
	if again := l.round(t.Context()); again != nil {
		t.Error("another member's object is looked at again and again")
	}
}
