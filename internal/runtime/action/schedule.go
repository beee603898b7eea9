package action

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/api/actions/v1alpha1"
	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/internal/core/cron"
	"github.com/operon-framework/operon/internal/runtime/author"
)

const (
	// ScheduleLabel on an Action names the ActionSchedule that created it.
	ScheduleLabel = "actions.operon.dev/schedule"
	// ScheduledAnnotation on an Action is the time for which it was created.
	ScheduledAnnotation = "actions.operon.dev/scheduled-at"
)

// Schedules composes ActionSchedules. The children of a schedule are the Actions that should exist: running Actions, Actions
// that are kept as history, and the Action that is due.
type Schedules struct {
	clock clock.PassiveClock
	// due has the due of each schedule, by its UID, while it is reconciled.
	due sync.Map
	// created has the time at which the last Action of a schedule was created, by the UID of the schedule, until a list contains it.
	created sync.Map
}

// due is an Action that is to be created, and the time of the one before it.
type due struct {
	action *v1alpha1.Action
	before *metav1.Time
}

// Schedules returns the composer of the ActionSchedules whose Actions the runner executes.
func (r *Runner) Schedules(now clock.PassiveClock) *Schedules {
	if now == nil {
		now = clock.RealClock{}
	}
	return &Schedules{clock: now}
}

// Roles returns the roles of a composer of ActionSchedules.
func (s *Schedules) Roles() author.Roles[*v1alpha1.ActionSchedule] {
	return author.Roles[*v1alpha1.ActionSchedule]{Compose: s.compose, Observe: s.observe}
}

// observe takes back that an Action was created if it does not exist: it may have been refused, and is created in another attempt.
func (s *Schedules) observe(ctx context.Context, schedule *v1alpha1.ActionSchedule, seen *author.Observed) error {
	found, ok := s.due.LoadAndDelete(schedule.UID)
	if !ok {
		return nil
	}
	exists, err := seen.Child(ctx, found.(due).action.DeepCopy())
	if !exists {
		schedule.Status.LastScheduledAt = found.(due).before
	}
	return err
}

func (s *Schedules) compose(ctx context.Context, schedule *v1alpha1.ActionSchedule, out *author.Composition) error {
	plan, err := s.plan(ctx, schedule, out)
	if err != nil {
		return err
	}
	for _, a := range plan.Keep {
		out.Child(a, ready)
	}
	s.due.Delete(schedule.UID) // of an attempt that ended before observe
	if plan.Due != nil {
		out.Child(plan.Due, ready)
		s.due.Store(schedule.UID, due{plan.Due, schedule.Status.LastScheduledAt})
	}
	if left := s.unlisted(schedule.UID, plan); left > 0 {
		// A list may be older than our own writes, and objects that are not declared are deleted.
		out.Partial()
		out.RequeueAfter(left)
	}
	if !plan.Next.IsZero() {
		out.RequeueAfter(plan.Next.Sub(s.clock.Now()))
	}
	status := &schedule.Status
	status.Active = plan.Active
	status.NextAt, status.LastScheduledAt = timeOf(plan.Next), timeOf(plan.Last)
	return nil
}

// unlisted returns for how long the list may still lack the last Action, or 0. An Action may be created long after the time for which it was due.
func (s *Schedules) unlisted(schedule types.UID, plan Plan) time.Duration {
	now := s.clock.Now()
	if plan.Due != nil {
		s.created.Store(schedule, now)
		return 0
	}
	if plan.seen {
		s.created.Delete(schedule)
		return 0
	}
	since := plan.Last
	if created, ok := s.created.Load(schedule); ok && created.(time.Time).After(since) {
		since = created.(time.Time)
	}
	return max(0, since.Add(timing.catchUp).Sub(now))
}

// ready means that the schedule is ready, regardless of the result of an Action.
var ready = author.ReadyWhen(func(*unstructured.Unstructured) (bool, string) { return true, "" })

func timeOf(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return new(metav1.NewTime(t))
}

// plan reads the existing Actions and plans the next ones.
func (s *Schedules) plan(ctx context.Context, schedule *v1alpha1.ActionSchedule, out *author.Composition) (Plan, error) {
	when, err := parsed(schedule)
	if err != nil {
		return Plan{}, err
	}
	var there v1alpha1.ActionList
	if err := out.List(ctx, &there, client.MatchingLabels{ScheduleLabel: schedule.Name}); err != nil {
		return Plan{}, err
	}
	there.Items = slices.DeleteFunc(there.Items, func(a v1alpha1.Action) bool { return !metav1.IsControlledBy(&a, schedule) })
	return PlanOf(schedule, there.Items, when, s.clock.Now()), nil
}

// parsed returns the times of a schedule, or an error that only its user can resolve.
func parsed(schedule *v1alpha1.ActionSchedule) (cron.Schedule, error) {
	when, err := cron.Parse(schedule.Spec.Schedule, schedule.Spec.TimeZone)
	if err != nil {
		return when, &ScheduleError{"spec.schedule", err}
	}
	if len(schedule.Name) > maxScheduleName {
		return when, &ScheduleError{"metadata.name", fmt.Errorf("it has %d letters, at most %d leave room for the names of Actions", len(schedule.Name), maxScheduleName)}
	}
	if deadline := schedule.Spec.Deadline; deadline != nil && deadline.Duration < timing.minDeadline {
		return when, &ScheduleError{"spec.deadline", fmt.Errorf("%s is too short to create an Action in time: want at least %s", deadline.Duration, timing.minDeadline)}
	}
	return when, nil
}

// maxScheduleName leaves room for a time in the name of an Action, which is also the value of a label.
const maxScheduleName = 52

// ScheduleError reports an invalid field of an ActionSchedule.
type ScheduleError struct {
	Field string
	Err   error
}

func (e *ScheduleError) Error() string { return e.Field + ": " + e.Err.Error() }

// Stalled returns the reason of the Ready condition: only a change of the spec helps.
func (e *ScheduleError) Stalled() string { return "InvalidSchedule" }

func (e *ScheduleError) Unwrap() error { return e.Err }

// Plan contains the Actions of a schedule that should exist.
type Plan struct {
	// Keep contains the existing Actions that are kept. Others are deleted.
	Keep []*v1alpha1.Action
	// Due is the Action to create.
	Due *v1alpha1.Action
	// Active contains the names of the Actions that are not over, including Due.
	Active []string
	// Last is the time for which the last Action was created. Next is the time at which another one is created.
	Last, Next time.Time
	// seen reports whether the last Action exists.
	seen bool
}

// PlanOf plans the Actions of a schedule at a point in time, from the existing Actions in any order. It is pure. The name of
// an Action contains the time for which it is due, so that no Action is created twice.
func PlanOf(schedule *v1alpha1.ActionSchedule, there []v1alpha1.Action, when cron.Schedule, now time.Time) Plan {
	plan := Plan{}
	slices.SortFunc(there, func(a, b v1alpha1.Action) int { return scheduledAt(&b).Compare(scheduledAt(&a)) })
	kept := map[bool]int32{}
	most := map[bool]int32{true: orDefault(schedule.Spec.SuccessfulHistory), false: orDefault(schedule.Spec.FailedHistory)}
	for i := range there {
		a := &there[i]
		if at := scheduledAt(a); at.After(plan.Last) && !at.After(now.Add(timing.ahead)) {
			plan.Last = at
		}
		if over(a) {
			phase, _ := journal.EndOf(a.Status.Journal)
			succeeded := phase == journal.Succeeded
			if kept[succeeded]++; kept[succeeded] > most[succeeded] {
				continue
			}
		}
		plan.Keep = append(plan.Keep, composed(a))
	}
	plan.seen = true
	if last := schedule.Status.LastScheduledAt; last != nil && last.After(plan.Last) && !last.After(now.Add(timing.ahead)) {
		plan.Last, plan.seen = last.Time, false // another client deleted it, or the cache does not contain it yet
	}
	plan.due(schedule, there, when, now)
	return plan
}

const defaultHistory = 3

func orDefault(history *int32) int32 {
	if history == nil {
		return defaultHistory
	}
	return *history
}

// due plans the Action that is due, and determines the next time.
func (p *Plan) due(schedule *v1alpha1.ActionSchedule, there []v1alpha1.Action, when cron.Schedule, now time.Time) {
	var active []*v1alpha1.Action
	for i := range there {
		if !over(&there[i]) {
			active = append(active, &there[i])
		}
	}
	defer func() {
		for _, a := range active {
			p.Active = append(p.Active, a.Name)
		}
		slices.Sort(p.Active)
	}()
	if schedule.Spec.Suspend {
		return
	}
	p.Next = when.Next(now)
	due := lastDue(schedule, p.Last, when, now)
	if due.IsZero() || schedule.Spec.Overlap != v1alpha1.Allow && schedule.Spec.Overlap != v1alpha1.Replace && len(active) > 0 {
		return
	}
	if schedule.Spec.Overlap == v1alpha1.Replace {
		p.replace(active)
	}
	p.Last, p.Due, p.seen = due, made(schedule, due), true
	active = append(active, p.Due)
}

// replace cancels Actions that are not over.
func (p *Plan) replace(active []*v1alpha1.Action) {
	for _, a := range p.Keep {
		if slices.ContainsFunc(active, func(other *v1alpha1.Action) bool { return other.Name == a.Name }) {
			a.Spec.Cancel = true
		}
	}
}

// lastDue returns the latest time at which an Action was due that is not too late to be created and is after the last created
// one. It returns the zero time if there is no such time.
func lastDue(schedule *v1alpha1.ActionSchedule, last time.Time, when cron.Schedule, now time.Time) time.Time {
	deadline := timing.defaultDeadline
	if schedule.Spec.Deadline != nil {
		deadline = schedule.Spec.Deadline.Duration
	}
	from := now.Add(-deadline)
	for _, earliest := range []time.Time{schedule.CreationTimestamp.Time, last} {
		if earliest.After(from) {
			from = earliest
		}
	}
	var due time.Time
	if schedule.Spec.AtOnce && last.IsZero() && !schedule.CreationTimestamp.Time.Before(from) {
		due = schedule.CreationTimestamp.Time // even if this clock is behind the clock of the API server
	}
	for next := when.Next(from); !next.IsZero() && !next.After(now); next = when.Next(next) {
		due = next
	}
	return due
}

// scheduledAt returns the time for which an Action was created.
func scheduledAt(a *v1alpha1.Action) time.Time {
	at, err := time.Parse(time.RFC3339, a.Annotations[ScheduledAnnotation])
	if err != nil {
		return a.CreationTimestamp.Time
	}
	return at
}

// composed returns an existing Action as it was composed. With its version, it is not created again if it was deleted meanwhile: it would run again.
func composed(a *v1alpha1.Action) *v1alpha1.Action {
	return &v1alpha1.Action{ObjectMeta: metav1.ObjectMeta{
		Name: a.Name, ResourceVersion: a.ResourceVersion,
		Labels:      map[string]string{ScheduleLabel: a.Labels[ScheduleLabel]},
		Annotations: map[string]string{ScheduledAnnotation: a.Annotations[ScheduledAnnotation]},
	}, Spec: *a.Spec.DeepCopy()}
}

// made returns the Action for a time.
func made(schedule *v1alpha1.ActionSchedule, at time.Time) *v1alpha1.Action {
	return &v1alpha1.Action{ObjectMeta: metav1.ObjectMeta{
		Name:        schedule.Name + "-" + strings.ToLower(at.UTC().Format("0601021504")),
		Labels:      map[string]string{ScheduleLabel: schedule.Name},
		Annotations: map[string]string{ScheduledAnnotation: at.UTC().Format(time.RFC3339)},
	}, Spec: *schedule.Spec.Template.DeepCopy()}
}
