package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/proxy"
	"github.com/operon-framework/operon/internal/prove/quiesce"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// Pace defines when a step is over.
type Pace struct {
	// Reached reports whether the state at the end of a step is the expected one. Knows reports whether a state is
	// expected. If Reached is nil, no state is expected.
	Reached func(step string, state []*unstructured.Unstructured) bool
	Knows   func(step string) bool
	// Quiet is how long nothing may happen when the expected state is reached. The default is 150 ms.
	Quiet time.Duration
	// Settle is how long nothing may happen while it is not reached, because the operator may retry
	// later. The default is 3 s. It is at least Unsure.
	Settle time.Duration
	// Unsure is how long nothing may happen if no state is expected. The default is 1 s.
	Unsure time.Duration
	// Pause is how long the operator is known to do nothing before it continues. The default is zero.
	Pause time.Duration
	// Patience is the maximum duration of a step. The default is 30 s.
	Patience time.Duration
	// Listen is how long the operator is observed at the end of the first step, after it became
	// silent, to record its activity when it is idle. By default it is not observed.
	Listen time.Duration
	// Rhythm is what the operator repeats without end. Only other requests and changes that do not follow from it break the silence.
	Rhythm requestlog.Rhythm
	// Learn adds the repeated requests of this run to the rhythm. Without it, the step waits for an unknown repetition until
	// Patience ends, because it may be the result of a fault.
	Learn bool
}

// times returns the durations that decide when a step is over. An operator that polls may notice a change only with its next request.
func (p Pace) times(rhythm requestlog.Rhythm) quiesce.Pace {
	return quiesce.Pace{
		Quiet: p.Quiet, Settle: p.Settle, Unsure: p.Unsure, Listen: p.Listen, Pause: max(p.Pause, 2*rhythm.Period()), Patience: p.Patience,
	}
}

// WithPatience returns the pace with a patience of at least this, and longer than the longest time for which nothing may have to happen: the work
// takes time, too, and the operator may pause several times.
func (p Pace) WithPatience(least time.Duration) Pace {
	p.Patience = least
	p.Patience = max(least, quiesce.Longest(p.withDefaults().times(nil))*3/2) + mostPauses*p.Pause
	return p
}

// mostPauses is the number of pauses that a step may have.
const mostPauses = 3

func (p Pace) withDefaults() Pace {
	if p.Patience <= 0 {
		p = p.WithPatience(timing.defaultPatience)
	}
	for value, otherwise := range map[*time.Duration]time.Duration{
		&p.Quiet: timing.defaultQuiet, &p.Settle: timing.defaultSettle, &p.Unsure: timing.defaultUnsure,
	} {
		if *value <= 0 {
			*value = otherwise
		}
	}
	p.Settle = max(p.Settle, p.Unsure) // an operator that needs more time may also retry later
	return p
}

// settle waits until a step that began at a time is over.
func (w *world) settle(ctx context.Context, s *workload.Step, began time.Time) (quiesce.Decision, error) {
	tick := time.NewTicker(timing.look)
	defer tick.Stop()
	acted := time.Now() // the actions of a step may wait for the cluster
	o := observer{world: w, step: s, began: began, acted: acted, looked: -1, churned: acted, patience: quiesce.Hourglass{Left: w.pace.Patience, At: acted}}
	for {
		if decision := quiesce.Decide(w.pace.times(w.rhythm), o.observe()); decision.Over {
			return decision, nil
		}
		select {
		case <-ctx.Done():
			return quiesce.Decision{Why: "interrupted"}, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// observer observes one step.
type observer struct {
	*world
	step     *workload.Step
	began    time.Time
	acted    time.Time // after the actions of the step
	patience quiesce.Hourglass
	// looked is the number of changes at the last evaluation of the objects. working describes the work of Kubernetes at that
	// time.
	looked  int
	reached bool
	working string
	// stillWorking is working after a long silence.
	stillWorking string
	unready      bool
	// reconciling reports that an object is being worked on.
	reconciling bool
	churned     time.Time
	// ticked is when the step was last observed, and silence for how long nothing had happened then.
	ticked  time.Time
	silence time.Duration
}

// observe returns the current observation.
func (o *observer) observe() quiesce.Observation {
	if err := o.life.dead(); err != nil {
		return quiesce.Observation{Failed: err.Error()}
	}
	o.resume(time.Now())
	busy, quiet := o.quiet(o.acted)
	seen := quiesce.Observation{Quiet: quiet, Slow: o.Witness.Slowness()}
	if busy == "" && quiet >= o.pace.Quiet/quiesce.Brief {
		o.look()
		if busy = o.working; quiet > scaled(timing.podsArrive, seen.Slow) {
			busy = o.stillWorking
		}
	}
	if time.Since(o.churned) > timing.churnFor/10 {
		o.churned = time.Now()
		seen.Churns = o.churns(o.began)
		if o.look(); o.stillWorking == "" { // otherwise the operator may repeat requests only until Kubernetes is done
			seen.Rhythmic = o.learns(o.began)
		}
	}
	seen.Busy, seen.Step = busy, o.known(o.step)
	seen.Step.Reached, seen.Step.Unready, seen.Step.Reconciling = o.reached, o.unready, o.reconciling
	if busy == "" && quiet >= o.pace.Quiet {
		started, _ := o.life.lastChange() // a restart ends the backoff
		seen.Step.Backoff = backoff(requestlog.Failed(o.proxy.Record().Requests(), latest(o.began, started)))
	}
	o.ticked, o.silence = time.Now(), quiet
	pace := seen.Slow
	if busy != "" && (busy == o.working || busy == o.stillWorking) {
		pace *= 2 // the operator can do nothing about it
	}
	if seen.Left = o.patience.Tick(o.ticked, pace); seen.Left < 0 && busy == "" && !quiesce.Silent(o.pace.times(o.rhythm), seen) {
		seen.Busy = o.noise()
	}
	return seen
}

// resume leaves the time out of the silence in which the step was not observed: other processes probably did not run either.
func (o *observer) resume(now time.Time) {
	if !o.ticked.IsZero() && now.Sub(o.ticked) > timing.paused {
		o.waited = now.Add(-o.silence)
	}
}

// backoff returns how long an operator may wait for its next retry. By default, client-go and controller-runtime double the delay
// after each failed attempt, from 5 ms. Operators with a longer one show it between their last two attempts.
func backoff(failed requestlog.Failures) time.Duration {
	if failed.InARow == 0 {
		return 0
	}
	usual := 5 * time.Millisecond << min(failed.InARow, 20) // twice the delay
	return min(max(usual, failed.Apart*5/2), timing.longestBackoff)
}

// look evaluates the objects, if any of them has changed since the last evaluation.
func (o *observer) look() {
	if count := o.scene.Count() + o.wide.Count(); count != o.looked {
		o.looked, o.reached = count, !o.expects(o.step) || o.pace.Reached(o.step.Name, o.state())
		state := o.scene.State()
		o.working, o.stillWorking = atWork(state, false), atWork(state, true)
		o.unready, o.reconciling = unready(state), reconciling(state)
	}
}

// known returns the known facts about a step before the objects are evaluated.
func (w *world) known(s *workload.Step) quiesce.Step {
	steps := w.trace.Steps
	return quiesce.Step{
		First: len(steps) == 1, Last: len(steps) == len(w.plan.Workload.Steps),
		Expected: w.expects(s), Refused: steps[len(steps)-1].Refused != "", AwaitsFault: w.awaits(s.Name),
	}
}

// scaled returns a duration scaled for a cluster that is slower than usual.
func scaled(while time.Duration, slow float64) time.Duration { return quiesce.Scaled(while, slow) }

// awaits reports whether a fault still has to be injected in a step, or may still be.
func (w *world) awaits(step string) bool {
	return slices.ContainsFunc(w.script.Pending(), func(f fault.Fault) bool { return f.On.Step == "" || f.On.Step == step })
}

// expects reports whether the state that a step leads to is known.
func (w *world) expects(s *workload.Step) bool {
	return w.pace.Reached != nil && (w.pace.Knows == nil || w.pace.Knows(s.Name))
}

// quiet returns how long nothing has happened, or a description of what is in progress.
func (w *world) quiet(since time.Time) (busy string, quiet time.Duration) {
	if busy := w.life.busy(); busy != "" {
		return busy, 0
	}
	changed, heard := w.life.lastChange()
	activity, _ := w.proxy.Activity()
	switch {
	case activity.Disturbed:
		w.waited = time.Now() // silence does not count before the operator sees the present: it has not reacted to it yet
		return "a fault is in progress", 0
	case activity.Open > 0 && len(w.rhythm) == 0:
		return "a request is under way", 0
	case activity.Opening > 0:
		w.waited = time.Now() // silence does not count while the watch has not shown the initial state
		return "a watch begins", 0
	case activity.Seen <= heard && w.mayStart(changed):
		return "the operator starts", 0
	}
	if asked := w.proxy.Electing(); !asked.IsZero() && time.Since(asked) < scaled(timing.newLeader, w.Witness.Slowness()) {
		w.waited = time.Now()
		return "the operator has no lease yet", 0
	}
	last := latest(since, changed, w.lastActivity(activity), w.waited)
	quiet = time.Since(last)
	if quiet < w.pace.Quiet/quiesce.Brief {
		return "", quiet // the step cannot be over yet, so further checks are not needed
	}
	if late := w.late(since); late != "" {
		if len(w.rhythm) == 0 { // with a rhythm, there is always something that is a moment late
			w.waited = time.Now()
		}
		return late, 0
	}
	return "", quiet
}

// lastActivity returns when the operator last sent a request, or an object last changed, apart from its rhythm.
func (w *world) lastActivity(activity proxy.Activity) time.Time {
	if len(w.rhythm) == 0 {
		return latest(activity.Last, w.lastChange())
	}
	requests := w.proxy.Record().Requests()
	last, made := w.rhythm.Last(requests), w.rhythm.Made(requests)
	for _, change := range w.changes() {
		if !made[change.Version] {
			last = latest(last, change.At)
		}
	}
	return last
}

// learns reports whether for some time nothing happened except what the operator repeats, and adds this to the rhythm.
func (w *world) learns(since time.Time) bool {
	now, slow := time.Now(), w.Witness.Slowness()
	window := now.Add(-rhythmWindow(slow))
	activity, _ := w.proxy.Activity()
	changed, _ := w.life.lastChange()
	if !w.pace.Learn || since.After(window) || changed.After(window) || w.life.busy() != "" || activity.Disturbed || activity.Opening > 0 {
		return false
	}
	more := learned(w.proxy.Record().Requests(), w.changes(), now, slow)
	w.rhythm = w.rhythm.And(more)
	w.trace.Rhythm = w.rhythm
	return len(more) > 0
}

// rhythmWindow returns for how long nothing may happen except what the operator repeats.
func rhythmWindow(slow float64) time.Duration { return scaled(timing.rhythm, quiesce.Mild(slow)) }

// learned returns the rhythm of the last window of time. A hot loop is slower on a slow cluster, but timers are not.
func learned(requests []requestlog.Request, changes []runlog.Change, now time.Time, slow float64) requestlog.Rhythm {
	since := now.Add(-rhythmWindow(slow))
	var versions []string
	for _, change := range changes {
		if change.At.After(since) {
			versions = append(versions, change.Version)
		}
	}
	return requestlog.LearnRhythm(requests, versions, since, now, quiesce.Mild(slow))
}

// mayStart reports whether an operator that was started at a time may still need time until its first request.
func (w *world) mayStart(started time.Time) bool {
	if !w.started.Equal(started) {
		w.started, w.starting = started, quiesce.Hourglass{Left: timing.firstRequest, At: started}
	}
	return w.starting.Tick(time.Now(), w.Witness.Slowness()) >= 0
}

// lastChange returns when an object of the world last changed.
func (w *world) lastChange() time.Time {
	w.changes()
	return latest(w.scene.LastChange(), w.glance.last)
}

// noise describes what breaks the silence, for people.
func (w *world) noise() string {
	requests := w.proxy.Record().Requests()
	for i := len(requests) - 1; i >= 0; i-- {
		if r := requests[i]; r.IsWrite() && r.Effect != requestlog.Unchanged || i == 0 {
			return "the operator keeps writing: " + r.String()
		}
	}
	return "objects change all the time"
}

func latest(times ...time.Time) time.Time {
	newest := time.Time{}
	for _, t := range times {
		if t.After(newest) {
			newest = t
		}
	}
	return newest
}

// awake waits until the operator has finished the reads at its start.
func (w *world) awake(ctx context.Context) error {
	began := time.Now()
	starting := quiesce.Hourglass{Left: timing.firstRequest, At: began}
	tick := time.NewTicker(timing.look)
	defer tick.Stop()
	for {
		busy, quiet := w.quiet(began)
		activity, _ := w.proxy.Activity()
		overdue := starting.Tick(time.Now(), w.Witness.Slowness()) < 0
		switch {
		case w.life.failed() != nil:
			return w.life.failed()
		case w.life.dead() != nil:
			return nil // the steps will report it
		case busy == "" && activity.Seen > 0 && quiet >= w.pace.Quiet:
			return nil
		case activity.Seen == 0 && overdue && w.life.lackedPort():
			return nil // another run has its port: the exits show it
		case activity.Seen == 0 && overdue:
			return fmt.Errorf("the operator has sent no requests through the proxy for %s%s: does it get its cluster from %s?", time.Since(began).Round(time.Second), w.life.said(), w.ways())
		case activity.Seen > 0 && (time.Since(began) > w.pace.Patience || w.learns(began)):
			return nil // it does not become silent: the steps will report it
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// ways describes for people how the operator can find the cluster.
func (w *world) ways() string {
	program, is := w.Operator.(Process)
	switch {
	case !is:
		return "$KUBECONFIG"
	case program.InCluster() == nil:
		return "$KUBECONFIG, or from the settings of a pod"
	}
	return "$KUBECONFIG (settings of a pod cannot be given on this machine: " + program.InCluster().Error() + ")"
}
