package prove

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/runner"
	"github.com/operon-framework/operon/internal/prove/testplan"
)

// awaited learns again with more time for each step if a sample that is not ready becomes ready only after a pause, for example because the
// operator looks again every ten seconds. Otherwise the runs would be compared with the state before the pause.
func (s *session) awaited(ctx context.Context, fresh map[string]runlog.Trace) (map[string]runlog.Trace, error) {
	if s.replayed != nil || len(s.unready()) == 0 {
		return fresh, nil
	}
	s.at(fmt.Sprintf("a sample is not ready: waiting up to %s for the operator to continue", timing.pause))
	seen, err := s.watchFirst(ctx)
	if err != nil {
		return nil, err
	}
	pause := s.pauseBefore(seen)
	if pause == 0 {
		return fresh, nil
	}
	note := fmt.Sprintf("the operator makes its samples ready only after a pause of %s: other steps may take as long", pause.Round(100*time.Millisecond))
	s.at("learning it once more: " + note)
	before := s.learnt
	s.report.Pause = pause * 3 / 2
	again, err := s.rehearse(ctx)
	if err != nil {
		return nil, err
	}
	if s.restless() || len(s.unready()) > 0 {
		s.learnt, s.report.Pause = before, 0 // the pause was not the reason
		return fresh, nil
	}
	s.report.Notes = append(s.report.Notes, note)
	return again, nil
}

// watchFirst runs the first step, and observes it for longer than usual.
func (s *session) watchFirst(ctx context.Context) (*runlog.Trace, error) {
	first := s.base
	first.Steps = first.Steps[:1]
	return s.stage.Carry(ctx, testplan.Plan{Name: "pauses", Workload: first}, runner.Pace{
		Unsure: s.Settle, Settle: s.Settle, Listen: timing.pause, Learn: true,
	}.WithPatience(2*timing.pause))
}

// pauseBefore returns the longest pause of the first step of a run until all samples were ready, or 0 if they did not become ready.
func (s *session) pauseBefore(seen *runlog.Trace) time.Duration {
	if len(seen.Steps) == 0 || !seen.Steps[0].Silent {
		return 0
	}
	for _, sample := range s.Samples {
		if object := after(*seen, sample); object != nil && notReady(object) != "" {
			return 0
		}
	}
	return longestPause(seen, s.Samples)
}

// longestPause returns the longest time between two changes of objects in the first step of a run, up to the last change of a sample.
func longestPause(seen *runlog.Trace, samples []*unstructured.Unstructured) time.Duration {
	changes := seen.Changes[:min(seen.Steps[0].LastChange, len(seen.Changes))]
	var longest, untilSample time.Duration
	last := seen.Steps[0].At
	for _, change := range changes {
		if change.At.After(last) {
			longest, last = max(longest, change.At.Sub(last)), change.At
		}
		if slices.ContainsFunc(samples, func(one *unstructured.Unstructured) bool {
			return one.GetKind() == change.Kind && one.GetName() == change.Name
		}) {
			untilSample = longest
		}
	}
	return untilSample
}
