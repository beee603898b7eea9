package quiesce

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/testing/scenario"
)

// given is a scenario: observations in order, until the step is over. Each observation lists only the values that differ
// from the defaults.
type given struct {
	Pace struct{ Quiet, Settle, Unsure, Listen, Pause, Patience string }
	Seen []struct {
		At, Quiet, Left, Failed, Busy, Churns, Backoff string
		Slow                                           float64
		Rhythmic                                       bool
		Step                                           []string
	}
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	scenario.Run(t, 15, func(t *testing.T, text string) string {
		var g given
		if err := yaml.UnmarshalStrict([]byte(text), &g); err != nil {
			t.Fatal(err)
		}
		p := Pace{
			Quiet: duration(t, g.Pace.Quiet, 300*time.Millisecond), Settle: duration(t, g.Pace.Settle, 3*time.Second), Unsure: duration(t, g.Pace.Unsure, time.Second),
			Listen: duration(t, g.Pace.Listen, 0), Pause: duration(t, g.Pace.Pause, 0), Patience: duration(t, g.Pace.Patience, 30*time.Second),
		}
		var out strings.Builder
		for _, one := range g.Seen {
			o := Observation{
				Failed: one.Failed, Busy: one.Busy, Churns: one.Churns, Rhythmic: one.Rhythmic, Slow: max(one.Slow, 1),
				Quiet: duration(t, one.Quiet, 0), Left: duration(t, one.Left, time.Second), Step: stepOf(t, one.Step),
			}
			o.Step.Backoff = duration(t, one.Backoff, 0)
			d := Decide(p, o)
			fmt.Fprintf(&out, "needs %s: over=%t quiescent=%t reached=%t %s\n", Enough(p, o.Step, o.Slow), d.Over, d.Quiescent, d.Reached, d.Why)
		}
		return out.String()
	})
}

func stepOf(t *testing.T, words []string) Step {
	t.Helper()
	var s Step
	known := map[string]*bool{"first": &s.First, "last": &s.Last, "expected": &s.Expected, "reached": &s.Reached, "refused": &s.Refused, "awaits-fault": &s.AwaitsFault, "unready": &s.Unready, "reconciling": &s.Reconciling}
	for _, word := range words {
		if known[word] == nil {
			t.Fatalf("unknown word %q", word)
		}
		*known[word] = true
	}
	return s
}

func duration(t *testing.T, text string, otherwise time.Duration) time.Duration {
	t.Helper()
	if text == "" {
		return otherwise
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Time lost in a slow phase of the cluster does not count after the cluster has recovered.
func TestHourglass(t *testing.T) {
	t.Parallel()
	at := time.Now()
	glass := Hourglass{Left: 10 * time.Second, At: at}
	for _, tick := range []struct {
		after time.Duration
		slow  float64
		over  bool
	}{{32 * time.Second, 8, false}, {5 * time.Second, 1, false}, {2 * time.Second, 2, false}, {time.Second, 1, true}} {
		at = at.Add(tick.after)
		if left := glass.Tick(at, tick.slow); (left < 0) != tick.over {
			t.Errorf("%s later, %.0f times slower: %s left", tick.after, tick.slow, left)
		}
	}
}
