package ansible

import (
	"testing"
	"time"

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
