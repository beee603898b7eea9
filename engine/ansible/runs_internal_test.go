package ansible

import (
	"testing"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/ansible/internal/proxy"
)

// The backoff begins again if a run gets further than all runs that failed before, and only then: errors that take turns are no
// progress.
func TestBackoff(t *testing.T) {
	t.Parallel()
	c := &composer{entry: &entry{watch: &engine.Watch{}}, engine: &Engine{firstRetry: time.Hour}}
	j := &job{}
	for i, test := range []struct {
		ok   int64
		want int
	}{{1, 1}, {1, 2}, {3, 1}, {2, 2}, {3, 3}, {4, 1}} {
		c.finish(j, &engine.Run{Failed: "it failed"}, &engine.RunResult{OK: test.ok}, &proxy.Session{})
		if j.failures != test.want {
			t.Errorf("run %d: %d failures without progress, want %d", i, j.failures, test.want)
		}
	}
	c.finish(j, &engine.Run{Failed: "it was killed"}, nil, &proxy.Session{})
	if j.failures != 2 || time.Until(j.retry) <= 0 {
		t.Errorf("a run without a result leads to %d failures and a retry at %s", j.failures, j.retry)
	}
	c.finish(j, &engine.Run{}, &engine.RunResult{OK: 9}, &proxy.Session{})
	if j.failures != 0 || j.furthest != 0 {
		t.Errorf("after a success there are %d failures", j.failures)
	}
}

// Changes of other objects cause a number of runs at once, and then one from time to time. Each custom resource has its own limit.
func TestRunsByChangesAreLimited(t *testing.T) {
	t.Parallel()
	c := &composer{limits: map[types.UID]*rate.Limiter{}}
	for i := range changesAtOnce {
		if left := time.Until(c.earliest("one")); left > 0 {
			t.Fatalf("run %d waits for %s", i, left)
		}
	}
	for range 2 { // a run that waits is not counted
		if left := time.Until(c.earliest("one")); left <= 0 || left > timing.changedEvery {
			t.Errorf("a further run waits for %s, want up to %s", left, timing.changedEvery)
		}
	}
	if left := time.Until(c.earliest("other")); left > 0 {
		t.Errorf("the run of another object waits for %s", left)
	}
}

// The annotation of an object overrides the verbosity of its entry, unless it is not a verbosity.
func TestVerbosity(t *testing.T) {
	t.Parallel()
	e := &entry{watch: &engine.Watch{}, verbose: 2}
	for text, want := range map[string]int{"": 2, "0": 0, "5": 5, "8": 2, "-1": 2, "loud": 2} {
		object := &engine.Object{}
		object.Annotations = map[string]string{verbosityAnnotation: text}
		s, err := e.settingsOf(object)
		if refused := text == "8" || text == "-1" || text == "loud"; err != nil || s.verbose != want || (s.ignored != "") != refused {
			t.Errorf("%q leads to the verbosity %d, the message %q and %v; want %d", text, s.verbose, s.ignored, err, want)
		}
	}
}
