package reconcile

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

func TestBuckets(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	key := types.NamespacedName{Name: "a"}
	steps := []struct {
		name string
		at   time.Duration
		uid  types.UID
		left time.Duration
	}{
		{"the burst", 0, "one", 0},
		{"the burst", 0, "one", 0},
		{"an empty bucket", 0, "one", time.Second},
		{"half a token", time.Second / 2, "one", time.Second / 2},
		{"a token", time.Second, "one", 0},
		{"a delayed pass took none", time.Second, "one", time.Second},
		{"a new object of the name", time.Second, "two", 0},
		{"a new object has a burst of its own", time.Second, "two", 0},
		{"and no more", time.Second, "two", time.Second},
		{"never more than the burst", time.Hour, "two", 0},
		{"never more than the burst", time.Hour, "two", 0},
		{"never more than the burst", time.Hour, "two", time.Second},
	}
	b := newBuckets(Rate{Burst: 2, Every: time.Second}, clock.RealClock{})
	for i, s := range steps {
		if left, _ := b.take(key, s.uid, start.Add(s.at)); left != s.left {
			t.Errorf("step %d, %s: waits %s, want %s", i, s.name, left, s.left)
		}
	}
}

// A storm is told after half a minute, once, and again as it goes on; what ends is not.
func TestStormIsTold(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	key := types.NamespacedName{Name: "a"}
	b := newBuckets(Rate{Burst: 10, Every: time.Second}, clock.RealClock{})
	var told []time.Duration
	for at := time.Duration(0); at < 15*time.Minute; at += time.Second / 4 {
		if at > 12*time.Minute && at < 13*time.Minute {
			continue // quiet for a minute
		}
		if _, storm := b.take(key, "one", start.Add(at)); storm {
			told = append(told, at.Round(5*time.Second))
		}
	}
	if got, want := fmt.Sprint(told), "[35s 10m35s 13m35s]"; got != want {
		t.Errorf("told at %s, want %s: half a minute into the storm, ten minutes later, and in the next storm", got, want)
	}
}

func TestBucketsAreDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBuckets(DefaultRate, clock.RealClock{})
		for i := range 1000 {
			b.take(types.NamespacedName{Name: fmt.Sprint(i)}, "one", time.Now())
		}
		b.forget(types.NamespacedName{Name: "0"})
		if got := b.count(); got != 999 {
			t.Errorf("%d buckets are held after one object went, want 999", got)
		}
		time.Sleep(50 * time.Second)
		for range 20 {
			b.take(types.NamespacedName{Name: "late"}, "one", time.Now())
		}
		time.Sleep(15 * time.Second)
		if got := b.count(); got != 1 {
			t.Errorf("%d buckets are held, want that of the only object that was reconciled of late", got)
		}
		time.Sleep(2 * time.Minute)
		if got := b.count(); got != 0 {
			t.Errorf("%d buckets are held after a while without a reconcile, want none", got)
		}
	})
}

func (b *buckets) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.held)
}
