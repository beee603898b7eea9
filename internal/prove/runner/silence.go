package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/quiesce"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// Pace says when a step is over.
type Pace struct {
	// Reached reports whether what there is at the end of a step is what is expected, and Knows whether
	// anything is. Nil: nothing is expected.
	Reached func(step string, state []*unstructured.Unstructured) bool
	Knows   func(step string) bool
	// Quiet is how long nothing may happen once that is reached, by default 150 ms.
	Quiet time.Duration
	// Settle is how long nothing may happen where it is not reached, as the operator may try again
	// later; by default 3 s.
	Settle time.Duration
	// Unsure is how long nothing may happen where nothing is expected, by default 1 s.
	Unsure time.Duration
	// Patience bounds a step, by default 30 s.
	Patience time.Duration
	// Listen is how long an operator is listened to in the end of the first step, after it became
	// silent, to see what it does when there is nothing to do. By default it is not.
	Listen time.Duration
	// Reads tells that the operator reads all the time: only what it writes breaks the silence.
	Reads bool
}

// times returns what decides when a step is over.
func (p Pace) times() quiesce.Pace {
	return quiesce.Pace{Quiet: p.Quiet, Settle: p.Settle, Unsure: p.Unsure, Listen: p.Listen, Patience: p.Patience}
}

func (p Pace) withDefaults() Pace {
	for value, otherwise := range map[*time.Duration]time.Duration{
		&p.Quiet: timing.defaultQuiet, &p.Settle: timing.defaultSettle, &p.Unsure: timing.defaultUnsure, &p.Patience: timing.defaultPatience,
	} {
		if *value <= 0 {
			*value = otherwise
		}
	}
	return p
}

// settle waits until a step is over that began at a time.
func (w *world) settle(ctx context.Context, s *workload.Step, began time.Time) (quiesce.Decision, error) {
	tick := time.NewTicker(timing.look)
	defer tick.Stop()
	o := observer{world: w, step: s, began: began, looked: -1, churned: began, patience: quiesce.Hourglass{Left: w.pace.Patience, At: began}}
	for {
		if decision := quiesce.Decide(w.pace.times(), o.observe()); decision.Over {
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
	patience quiesce.Hourglass
	// looked is how many changes there were when the objects were looked at last, and working which of them are being rolled out.
	looked  int
	reached bool
	working string
	unready bool
	churned time.Time
}

// observe returns what is known now.
func (o *observer) observe() quiesce.Observation {
	if err := o.life.dead(); err != nil {
		return quiesce.Observation{Failed: err.Error()}
	}
	busy, quiet := o.quiet(o.began)
	seen := quiesce.Observation{Quiet: quiet, Slow: o.Witness.Slowness(), Polls: o.onlyReads(o.began)}
	if busy == "" && quiet >= o.pace.Quiet/quiesce.Brief {
		o.look()
		busy = o.working
	}
	if time.Since(o.churned) > timing.churnFor/10 {
		o.churned = time.Now()
		seen.Churns = o.churns(o.began)
	}
	seen.Busy, seen.Step = busy, o.known(o.step)
	seen.Step.Reached, seen.Step.Unready = o.reached, o.unready
	if seen.Left = o.patience.Tick(time.Now(), seen.Slow); seen.Left < 0 && busy == "" {
		seen.Busy = o.noise()
	}
	return seen
}

// look looks at the objects, if any has changed since the last look.
func (o *observer) look() {
	if count := o.scene.Count() + o.wide.Count(); count != o.looked {
		o.looked, o.reached = count, !o.expects(o.step) || o.pace.Reached(o.step.Name, o.state())
		o.working, o.unready = atWork(o.scene.State()), unready(o.scene.State())
	}
}

// known returns what is known of a step before the objects are looked at.
func (w *world) known(s *workload.Step) quiesce.Step {
	steps := w.trace.Steps
	return quiesce.Step{
		First: len(steps) == 1, Last: len(steps) == len(w.plan.Workload.Steps),
		Expected: w.expects(s), Refused: steps[len(steps)-1].Refused != "", AwaitsFault: w.awaits(s.Name),
	}
}

// scaled is a time on a cluster that is slower than usual.
func scaled(while time.Duration, slow float64) time.Duration { return quiesce.Scaled(while, slow) }

// awaits reports whether a fault has still to strike in a step, or may.
func (w *world) awaits(step string) bool {
	return slices.ContainsFunc(w.script.Pending(), func(f fault.Fault) bool { return f.On.Step == "" || f.On.Step == step })
}

// expects reports whether it is known what a step leads to.
func (w *world) expects(s *workload.Step) bool {
	return w.pace.Reached != nil && (w.pace.Knows == nil || w.pace.Knows(s.Name))
}

// quiet tells for how long nothing has happened, or what is under way.
func (w *world) quiet(since time.Time) (busy string, quiet time.Duration) {
	if busy := w.life.busy(); busy != "" {
		return busy, 0
	}
	changed, heard := w.life.lastChange()
	activity, _ := w.proxy.Activity()
	switch {
	case activity.Disturbed:
		return "a fault is in progress", 0
	case activity.Open > 0 && !w.pace.Reads:
		return "a request is under way", 0
	case activity.Opening > 0:
		w.waited = time.Now() // as long as it is not shown what there is, silence does not count
		return "a watch begins", 0
	case activity.Seen <= heard && time.Since(changed) < w.firstRequest():
		return "the operator starts", 0
	}
	last := latest(since, changed, w.lastChange(), w.waited)
	if w.pace.Reads {
		last = latest(last, w.lastWrite())
	} else {
		last = latest(last, activity.Last)
	}
	quiet = time.Since(last)
	if quiet < w.pace.Quiet/quiesce.Brief {
		return "", quiet // it is too early to ask for more
	}
	if late := w.late(since); late != "" {
		w.waited = time.Now()
		return late, 0
	}
	return "", quiet
}

// onlyReads reports whether nothing has happened for long but that the operator read.
func (w *world) onlyReads(since time.Time) bool {
	long := scaled(timing.reading, quiesce.Mild(w.Witness.Slowness()))
	if w.pace.Reads || w.life.busy() != "" || time.Since(since) < long {
		return false
	}
	activity, _ := w.proxy.Activity()
	changed, _ := w.life.lastChange()
	return !activity.Disturbed && time.Since(activity.Last) < time.Second &&
		time.Since(latest(since, changed, w.lastChange(), w.lastWrite())) > long &&
		reads(w.proxy.Record().Requests(), time.Now().Add(-long)) > int(long/timing.often)
}

// reads is how often the operator has read since a time.
func reads(requests []requestlog.Request, since time.Time) (times int) {
	for _, r := range requests {
		if r.At.After(since) && !r.IsWrite() && !r.Streams() && r.Verb != "watch" && r.Resource != "" && r.Resource != "leases" {
			times++
		}
	}
	return times
}

// firstRequest is how long the operator may take until it asks for something.
func (w *world) firstRequest() time.Duration {
	return scaled(timing.firstRequest, w.Witness.Slowness())
}

// lastChange is when an object of the world changed last.
func (w *world) lastChange() time.Time {
	return latest(w.scene.LastChange(), w.lastChangeElsewhere())
}

// lastWrite is when the operator wrote last.
func (w *world) lastWrite() time.Time {
	last := time.Time{}
	for _, r := range w.proxy.Record().Requests() {
		if r.IsWrite() {
			last = latest(last, r.At)
		}
	}
	return last
}

// noise says what breaks the silence, for people.
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

// awake waits until the operator has read what it reads at its start.
func (w *world) awake(ctx context.Context) error {
	began := time.Now()
	tick := time.NewTicker(timing.look)
	defer tick.Stop()
	for {
		busy, quiet := w.quiet(began)
		activity, _ := w.proxy.Activity()
		switch {
		case w.life.failed() != nil:
			return w.life.failed()
		case w.life.dead() != nil:
			return nil // the steps will show it
		case busy == "" && activity.Seen > 0 && quiet >= w.pace.Quiet:
			return nil
		case activity.Seen == 0 && time.Since(began) > w.firstRequest():
			return fmt.Errorf("the operator has sent no requests through the proxy for %s%s: does it get its cluster from %s?", w.firstRequest().Round(time.Second), w.life.said(), w.ways())
		case activity.Seen > 0 && time.Since(began) > w.pace.Patience:
			return nil // it is never silent: the steps will show it
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// ways are those by which the operator can learn of the cluster, for people.
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
