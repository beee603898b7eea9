package action

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	"github.com/operon-framework/operon/api/actions/v1alpha1"
)

// A field that would prevent the creation of Actions is reported.
func TestInvalidSchedules(t *testing.T) {
	t.Parallel()
	deadline := func(d time.Duration) func(*v1alpha1.ActionSchedule) {
		return func(s *v1alpha1.ActionSchedule) { s.Spec.Deadline = &metav1.Duration{Duration: d} }
	}
	for name, c := range map[string]struct {
		edit func(*v1alpha1.ActionSchedule)
		want string
	}{
		"valid":             {func(*v1alpha1.ActionSchedule) {}, ""},
		"shortest deadline": {deadline(10 * time.Second), ""},
		"no deadline":       {deadline(0), "spec.deadline: 0s is too short to create an Action in time: want at least 10s"},
		"negative deadline": {deadline(-time.Hour), "spec.deadline: -1h0m0s is too short"},
		"no schedule":       {func(s *v1alpha1.ActionSchedule) { s.Spec.Schedule = "daily" }, "spec.schedule: "},
		"long name":         {func(s *v1alpha1.ActionSchedule) { s.Name = strings.Repeat("a", 53) }, "metadata.name: it has 53 letters"},
	} {
		s := &v1alpha1.ActionSchedule{ObjectMeta: metav1.ObjectMeta{Name: "nightly"}, Spec: v1alpha1.ActionScheduleSpec{Schedule: "0 3 * * *"}}
		c.edit(s)
		_, err := parsed(s)
		if c.want == "" && err == nil {
			continue
		}
		if reported, ok := errors.AsType[*ScheduleError](err); !ok || c.want == "" || !strings.HasPrefix(err.Error(), c.want) || reported.Stalled() != "InvalidSchedule" {
			t.Errorf("%s: the error is %v, want %q", name, err, c.want)
		}
	}
}

// A list may lack an Action that was created just now, however long before that it was due.
func TestAListLacksTheActionThatWasCreated(t *testing.T) {
	t.Parallel()
	due := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	clock := testclock.NewFakePassiveClock(due)
	s := (&Runner{}).Schedules(clock)
	late, unseen, seen := Plan{Last: due, Due: &v1alpha1.Action{}, seen: true}, Plan{Last: due}, Plan{Last: due, seen: true}
	for _, step := range []struct {
		after time.Duration // after the Action was due
		plan  Plan
		want  time.Duration
	}{
		{4 * time.Second, unseen, 6 * time.Second}, // another process created it
		{time.Minute, unseen, 0},
		{time.Minute, late, 0},
		{time.Minute + time.Second, unseen, 9 * time.Second},
		{time.Minute + 11*time.Second, unseen, 0}, // another client deleted it
		{2 * time.Minute, late, 0},
		{2*time.Minute + time.Second, seen, 0},
		{2*time.Minute + 2*time.Second, unseen, 0},
	} {
		clock.SetTime(due.Add(step.after))
		if got := s.unlisted("a", step.plan); got != step.want {
			t.Errorf("after %s: %s, want %s", step.after, got, step.want)
		}
	}
}
