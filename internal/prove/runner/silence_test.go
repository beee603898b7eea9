package runner

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/testplan"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// How long an operator has to be silent depends on what is known of the step, and on how slow the
// cluster is only where nothing comes after that would show what is late.
func TestNeed(t *testing.T) {
	t.Parallel()
	const slow = 3
	pace := Pace{
		Reached: func(string, []*unstructured.Unstructured) bool { return true },
		Knows:   func(step string) bool { return step != "unknown" },
	}.withDefaults()
	two := []workload.Step{{Name: "create"}, {Name: "unknown"}}
	for _, c := range []struct {
		name   string
		seen   []runlog.Step
		faults []fault.Fault
		listen time.Duration
		hopes  bool
		want   time.Duration
	}{
		{name: "more steps follow", seen: []runlog.Step{{Name: "create"}}, want: pace.Quiet / brief},
		{name: "a fault has still to strike", seen: []runlog.Step{{Name: "create"}}, faults: []fault.Fault{kill("create")}, want: pace.Quiet},
		{name: "a fault strikes later", seen: []runlog.Step{{Name: "create"}}, faults: []fault.Fault{kill("unknown")}, want: pace.Quiet / brief},
		{name: "the last one", seen: []runlog.Step{{}, {Name: "create"}}, want: scaled(pace.Quiet, slow/mild)},
		{name: "nothing is known", seen: []runlog.Step{{}, {Name: "unknown"}}, want: slow * pace.Unsure},
		{name: "nothing is known, and something is not ready", seen: []runlog.Step{{}, {Name: "unknown"}}, hopes: true, want: hopeful * slow * pace.Unsure},
		{name: "something is never ready", seen: []runlog.Step{{Name: "create"}}, hopes: true, want: pace.Quiet / brief},
		{name: "it was refused", seen: []runlog.Step{{}, {Name: "unknown", Refused: "is invalid"}}, want: pace.Quiet},
		{name: "the operator is listened to", seen: []runlog.Step{{Name: "create"}}, listen: time.Minute, want: slow * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			script, err := fault.NewScript(c.faults...)
			if err != nil {
				t.Fatal(err)
			}
			w := &world{script: script, pace: pace, plan: testplan.Plan{Workload: workload.Workload{Steps: two}}, trace: &runlog.Trace{Steps: c.seen}}
			w.pace.Listen = c.listen
			if got := w.need(&workload.Step{Name: c.seen[len(c.seen)-1].Name}, slow, c.hopes); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// A step that did not get where it should ends when nothing was tried again for long. One of which
// nothing is expected may take longer than that, where something is not ready.
func TestEnough(t *testing.T) {
	t.Parallel()
	pace := Pace{Settle: time.Second, Unsure: time.Second}.withDefaults()
	w := &world{pace: pace, trace: &runlog.Trace{Steps: []runlog.Step{{Name: "create"}}}}
	for _, c := range []struct {
		name           string
		reached, hopes bool
		want           time.Duration
	}{
		{name: "not reached", want: 2 * pace.Settle},
		{name: "not reached, and something is not ready", hopes: true, want: 2 * pace.Settle},
		{name: "nothing is expected", reached: true, want: 2 * pace.Unsure},
		{name: "nothing is expected, and something is not ready", reached: true, hopes: true, want: 2 * hopeful * pace.Unsure},
	} {
		if got := w.enough(&workload.Step{Name: "create"}, 2, c.reached, c.hopes); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Time passes more slowly while the cluster is slow, and what was gained so is not lost afterwards.
func TestHourglass(t *testing.T) {
	t.Parallel()
	at := time.Now()
	glass := hourglass{left: 10 * time.Second, at: at}
	for _, look := range []struct {
		after time.Duration
		slow  float64
		over  bool
	}{{32 * time.Second, 8, false}, {5 * time.Second, 1, false}, {2 * time.Second, 2, false}, {time.Second, 1, true}} {
		at = at.Add(look.after)
		if got := glass.over(at, look.slow); got != look.over {
			t.Errorf("%s later, %.0f times slower: over is %t", look.after, look.slow, got)
		}
	}
}

// Watches, leases and what is no object are not read, and what was read before does not count.
func TestReads(t *testing.T) {
	t.Parallel()
	now := time.Now()
	requests := []requestlog.Request{
		{Verb: "list", Resource: "boxes", At: now.Add(-time.Minute)}, {Verb: "list", Resource: "boxes", At: now}, {Verb: "get", Resource: "boxes", At: now},
		{Verb: "watch", Resource: "boxes", At: now}, {Verb: "get", Resource: "leases", At: now}, {Verb: "get", At: now}, {Verb: "create", Resource: "boxes", At: now},
	}
	if got := reads(requests, now.Add(-time.Second)); got != 2 {
		t.Errorf("%d reads, want 2", got)
	}
}

func kill(step string) fault.Fault {
	return fault.Fault{Kind: fault.Kill, On: fault.Match{Verb: "create", Step: step}}
}
