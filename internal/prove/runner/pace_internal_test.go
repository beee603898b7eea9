package runner

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/clusterwatch"
	"github.com/operon-framework/operon/internal/prove/quiesce"
	"github.com/operon-framework/operon/internal/prove/requestlog"
)

// If a pace waits longer when no state is expected, it waits at least as long when the expected state is not reached.
func TestPaceWaitsForRetries(t *testing.T) {
	t.Parallel()
	for unsure, want := range map[time.Duration]time.Duration{0: timing.defaultSettle, time.Second: timing.defaultSettle, 7 * time.Second: 7 * time.Second} {
		if got := (Pace{Unsure: unsure}).withDefaults().Settle; got != want {
			t.Errorf("with Unsure %s, Settle is %s, want %s", unsure, got, want)
		}
	}
}

// A step without an expected state is not over before an operator that polls has looked again.
func TestPaceWaitsForPolls(t *testing.T) {
	t.Parallel()
	pace := Pace{}.withDefaults()
	for period, want := range map[time.Duration]time.Duration{0: pace.Unsure, pace.Unsure / 4: pace.Unsure, pace.Unsure: 2 * pace.Unsure} {
		times := pace.times(requestlog.Rhythm{{Verb: "get", Every: period}, {Verb: "list", Every: period / 2}})
		if got := quiesce.Enough(times, quiesce.Step{Reached: true}, 1); got != want {
			t.Errorf("with requests every %s, a step is over after %s, want %s", period, got, want)
		}
	}
}

// A step may take longer than the time for which an operator has to be quiet at its end, whatever the user's --settle is: otherwise no state
// that differs could be confirmed.
func TestPatienceIsEnough(t *testing.T) {
	t.Parallel()
	for _, settle := range []time.Duration{0, time.Second, 6 * time.Second, 30 * time.Second} {
		for _, pause := range []time.Duration{0, 10 * time.Second, 45 * time.Second} {
			pace := Pace{Settle: 10 * settle, Unsure: 3 * settle, Listen: 2 * settle, Pause: pause}.WithPatience(time.Minute).withDefaults()
			for _, step := range []quiesce.Step{{}, {Reconciling: true}, {Reached: true, Unready: true}, {Reached: true, First: true}} {
				if needed := 2*pause + quiesce.Enough(pace.times(nil), step, 1); pace.Patience <= needed {
					t.Errorf("with --settle %s and two pauses of %s, %+v needs %s, and ends after %s", settle, pause, step, needed, pace.Patience)
				}
			}
		}
	}
}

// The time for a retry follows from the number of failures in a row, and from the time between the last two, and is limited.
func TestBackoff(t *testing.T) {
	t.Parallel()
	for failed, want := range map[requestlog.Failures]time.Duration{
		{}:                                    0,
		{InARow: 1}:                           10 * time.Millisecond,
		{InARow: 10}:                          5120 * time.Millisecond,
		{InARow: 60}:                          timing.longestBackoff,
		{InARow: 2, Apart: 5 * time.Second}:   12500 * time.Millisecond,
		{InARow: 3, Apart: time.Minute}:       timing.longestBackoff,
		{InARow: 11, Apart: time.Millisecond}: 10240 * time.Millisecond,
	} {
		if got := backoff(failed); got != want {
			t.Errorf("after %d failures, the last two %s apart, a step waits for %s, want %s", failed.InARow, failed.Apart, got, want)
		}
	}
}

// A timer is not slower on a slow cluster, but a hot loop is.
func TestRhythmOnASlowCluster(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for every, want := range map[time.Duration]string{time.Second: "get pods every 1s", 300 * time.Millisecond: ""} {
		var requests []requestlog.Request
		for at := now.Add(-time.Minute); at.Before(now); at = at.Add(every) {
			requests = append(requests, requestlog.Request{Verb: "get", Resource: "pods", Name: "p", At: at})
		}
		if got := learned(requests, nil, now, 8).String(); got != want {
			t.Errorf("every %s: %q, want %q", every, got, want)
		}
	}
}

// Time in which nothing ran, not even this process, is not silence of the operator.
func TestResume(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for gap, want := range map[time.Duration]time.Time{3 * time.Second: now.Add(-100 * time.Millisecond), 20 * time.Millisecond: {}} {
		o := &observer{world: &world{}, ticked: now.Add(-gap), silence: 100 * time.Millisecond}
		if o.resume(now); !o.waited.Equal(want) {
			t.Errorf("after %s, silence begins at %s, want %s", gap, o.waited, want)
		}
	}
}

// An operator may need more time until its first request while the machine is slow, but not for ever.
func TestMayStart(t *testing.T) {
	t.Parallel()
	w := &world{Stage: &Stage{Settings: Settings{Witness: &clusterwatch.Witness{}}}}
	for ago, want := range map[time.Duration]bool{time.Second: true, timing.firstRequest + time.Second: false} {
		if got := w.mayStart(time.Now().Add(-ago)); got != want {
			t.Errorf("%s after the start: %t, want %t", ago, got, want)
		}
	}
}

// The deletion of an object is awaited until it has been seen, but not that of an object with the same name that is newer.
func TestStillThere(t *testing.T) {
	t.Parallel()
	object := func(version string, deleting bool) *unstructured.Unstructured {
		one := &unstructured.Unstructured{Object: map[string]any{}}
		one.SetResourceVersion(version)
		if deleting {
			now := metav1.Now()
			one.SetDeletionTimestamp(&now)
		}
		return one
	}
	removed := &requestlog.Request{Verb: "delete", Before: "7"}
	released := &requestlog.Request{Verb: "update", Before: "7", After: "7"} // the last finalizer
	for name, c := range map[string]struct {
		object *unstructured.Unstructured
		by     *requestlog.Request
		want   bool
	}{
		"gone":                  {nil, removed, false},
		"not seen":              {object("7", false), removed, true},
		"waits for a finalizer": {object("8", true), removed, false},
		"created again":         {object("9", false), removed, false},
		"deleted before":        {object("7", true), removed, false},
		"released":              {object("7", true), released, true},
		"released and gone":     {nil, released, false},
	} {
		if got := stillThere(c.object, c.by); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
