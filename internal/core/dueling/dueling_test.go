package dueling_test

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/core/dueling"
	"github.com/operon-framework/operon/internal/core/plan"
)

var (
	start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	web   = plan.ID{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "a", Name: "web"}
	other = plan.ID{GroupKind: schema.GroupKind{Kind: "ConfigMap"}, Namespace: "a", Name: "other"}
)

// fight repairs as soon as it may, against a client that reverts each repair at once.
func fight(l *dueling.Ledger, child plan.ID, changes []dueling.Change, from, until time.Time) (pauses []time.Duration) {
	last := from
	for now := from; now.Before(until); {
		if left := l.Hold(child, changes, now); left > 0 {
			now = now.Add(left)
			continue
		}
		l.Repaired(child, changes, now)
		pauses = append(pauses, now.Sub(last))
		last = now
		now = now.Add(time.Millisecond)
	}
	return pauses
}

// An opponent that reverts at once causes ten writes in two minutes, and then one per
// minute: few, but never none.
func TestFightIsSlowedAndNeverStopped(t *testing.T) {
	t.Parallel()
	var rounded []string
	for _, pause := range fight(&dueling.Ledger{}, web, []dueling.Change{{Field: "spec.replicas", By: "hpa"}}, start, start.Add(5*time.Minute)) {
		rounded = append(rounded, pause.Round(time.Second).String())
	}
	if got, want := fmt.Sprint(rounded), "[0s 0s 0s 1s 2s 4s 8s 16s 32s 1m0s 1m0s 1m0s]"; got != want {
		t.Errorf("pauses %s, want %s", got, want)
	}
}

func TestWhatIsAContest(t *testing.T) {
	t.Parallel()
	replicas, image := dueling.Change{Field: "spec.replicas", By: "hpa"}, dueling.Change{Field: "spec.image", By: "flux"}
	tests := []struct {
		name string
		play func(*dueling.Ledger)
		at   time.Duration
		want string
	}{
		{"nothing", func(*dueling.Ledger) {}, 0, ""},
		{"twice is none", times(2, 0, replicas), 0, ""},
		{"three times is one", times(3, 0, replicas), 0, "hpa keeps changing spec.replicas of Deployment web"},
		{"within the time of peace", times(3, dueling.Peace-time.Second, replicas), 2 * dueling.Peace, "hpa keeps changing spec.replicas of Deployment web"},
		{"but not beyond", times(9, dueling.Peace, replicas), 9 * dueling.Peace, ""},
		{"it ends", times(9, 0, replicas), dueling.Peace, ""},
		{"not before", times(9, 0, replicas), dueling.Peace - time.Second, "hpa keeps changing spec.replicas of Deployment web"},
		{"two of them", times(3, 0, replicas, image), 0, "flux and hpa keep changing spec.image, spec.replicas of Deployment web"},
		{"an unknown hand", times(3, 0, dueling.Change{Field: "data.a"}), 0, "somebody keeps changing data.a of Deployment web"},
		{"a deletion", times(3, 0, dueling.Change{}), 0, "somebody keeps deleting Deployment web"},
		{"the same value", times(3, 0, dueling.Change{Field: "f", To: "1"}), 0, "somebody keeps changing f of Deployment web"},
		{"always another value", func(l *dueling.Ledger) {
			for i := range 9 {
				l.Repaired(web, []dueling.Change{{Field: "f", To: fmt.Sprint(i)}}, start)
			}
		}, 0, ""},
		{"left to others in between", func(l *dueling.Ledger) {
			times(2, 0, replicas)(l)
			l.Forget(other)
			l.Forget(web)
			times(2, 0, replicas)(l)
		}, 0, ""},
		{"another child left to others", func(l *dueling.Ledger) {
			times(2, 0, replicas)(l)
			l.Forget(other)
			times(1, 0, replicas)(l)
		}, 0, "hpa keeps changing spec.replicas of Deployment web"},
		{"always another child", func(l *dueling.Ledger) {
			l.Repaired(web, []dueling.Change{replicas}, start)
			l.Repaired(web, []dueling.Change{replicas}, start)
			l.Repaired(other, []dueling.Change{replicas}, start)
		}, 0, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := &dueling.Ledger{}
			test.play(l)
			contests, over := l.Contests(start.Add(test.at))
			var got string
			if len(contests) > 0 {
				got = contests[0].String()
			}
			if got != test.want {
				t.Errorf("contest %q, want %q", got, test.want)
			}
			if over.IsZero() != (test.want == "") {
				t.Errorf("it is over at %s", over)
			}
		})
	}
}

func times(n int, apart time.Duration, changes ...dueling.Change) func(*dueling.Ledger) {
	return func(l *dueling.Ledger) {
		for i := range n {
			l.Repaired(web, changes, start.Add(time.Duration(i)*apart))
		}
	}
}

// A child keeps the content of its last update until another client changes it, or it is left to others. What was long ago is forgotten.
func TestKept(t *testing.T) {
	t.Parallel()
	l := &dueling.Ledger{}
	if l.Kept(web, "") {
		t.Error("a child is kept that was never updated")
	}
	l.Updated(web, "a", start)
	l.Updated(web, "b", start)
	for content, want := range map[string]bool{"b": true, "a": false, "": false} {
		if got := l.Kept(web, content); got != want {
			t.Errorf("%q is kept: %t, want %t", content, got, want)
		}
	}
	if l.Kept(other, "b") {
		t.Error("another child is kept, too")
	}
	times(1, 0, dueling.Change{})(l)
	l.Repaired(other, nil, start.Add(dueling.Peace))
	if l.Kept(web, "b") {
		t.Error("an update is still known after the time of peace")
	}
	l.Updated(web, "b", start)
	l.Forget(web)
	if l.Kept(web, "b") {
		t.Error("a child that was left to others is kept")
	}
}

// A new change is reverted at once, whatever else is contested in the same child.
func TestNewChangeIsNotHeldBack(t *testing.T) {
	t.Parallel()
	l := &dueling.Ledger{}
	old := dueling.Change{Field: "spec.replicas", By: "hpa"}
	times(5, 0, old)(l)
	if left := l.Hold(web, []dueling.Change{old}, start); left != 4*time.Second {
		t.Errorf("held back for %s, want 4s", left)
	}
	if left := l.Hold(web, []dueling.Change{old, {Field: "spec.image", By: "flux"}}, start); left != 0 {
		t.Errorf("a new change is held back for %s", left)
	}
	if left := l.Hold(other, []dueling.Change{old}, start); left != 0 {
		t.Errorf("another child is held back for %s", left)
	}
}

func TestLedgerIsBounded(t *testing.T) {
	t.Parallel()
	l := &dueling.Ledger{}
	for round := range 3 {
		for i := range 1000 {
			l.Repaired(web, []dueling.Change{{Field: fmt.Sprint(i)}}, start.Add(time.Duration(round)))
		}
	}
	contests, _ := l.Contests(start)
	if got := len(contests[0].Fields); got != 100 {
		t.Errorf("%d fields of one object are known, want 100", got)
	}
	l.Repaired(web, []dueling.Change{{Field: "late"}}, start.Add(dueling.Peace+time.Second))
	for range dueling.Rounds {
		l.Repaired(web, []dueling.Change{{Field: "new"}}, start.Add(dueling.Peace+time.Second))
	}
	contests, _ = l.Contests(start.Add(dueling.Peace + time.Second))
	if len(contests) != 1 || fmt.Sprint(contests[0].Fields) != "[new]" {
		t.Errorf("contests %v, want what was left in peace to make room for the new field", contests)
	}
}
