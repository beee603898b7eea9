package shard

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patched is a client that takes note of what is patched.
type patched struct {
	client.WithWatch
	names []string
}

// Patch implements client.Client.
func (p *patched) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
	p.names = append(p.names, object.GetName())
	return nil
}

// An object appears while the member's lease is late: it is labelled when the lease has been renewed,
// although nobody tells of the object again.
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

// What is another member's is left alone until its slot is ours.
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
