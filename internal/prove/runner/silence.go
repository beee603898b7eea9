package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// Pace says when a step is over.
type Pace struct {
	// Reached tells whether what there is at the end of a step is what is expected, and Knows whether
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

// Paces that are taken where nothing else is said.
const (
	// brief divides the silence that ends a step in which nothing is waited for any more.
	brief = 3
	// mild divides the slowness of the cluster where what is expected is there: where it is not known
	// what to expect, to end too early would be a wrong reference, and here it is little lost.
	mild = 2.5
	// hopeful multiplies the silence that ends a step of which nothing is expected, where something is
	// not ready yet: what Kubernetes tries again, as the scheduler does, it tries after a second.
	hopeful = 3
)

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

// end is how a step ended.
type end struct {
	silent  bool
	reached bool
	why     string
}

// settle waits until a step is over that began at a time.
func (w *world) settle(ctx context.Context, s *workload.Step, began time.Time) (end, error) {
	tick := time.NewTicker(timing.look)
	defer tick.Stop()
	looked, reached, working, hopes, churned := -1, false, "", false, began
	patience := hourglass{left: w.pace.Patience, at: began}
	for {
		if err := w.life.dead(); err != nil {
			return end{why: err.Error()}, nil
		}
		busy, quiet := w.quiet(began)
		slow := w.Witness.Slowness()
		if busy == "" && quiet >= w.pace.Quiet/brief {
			if count := w.scene.Count() + w.wide.Count(); count != looked {
				looked, reached = count, !w.expects(s) || w.pace.Reached(s.Name, w.state())
				working, hopes = atWork(w.scene.State()), unready(w.scene.State())
			}
			if busy = working; busy == "" && quiet >= w.enough(s, slow, reached, hopes) {
				return end{silent: true, reached: reached}, nil
			}
		}
		if w.onlyReads(began) {
			return end{reached: reached, why: "the operator reads all the time"}, nil
		}
		if time.Since(churned) > timing.churnFor/10 {
			churned = time.Now()
			if why := w.churns(began); why != "" {
				return end{reached: reached, why: why}, nil
			}
		}
		if patience.over(time.Now(), slow) {
			if busy == "" {
				busy = w.noise()
			}
			return end{reached: reached, why: fmt.Sprintf("after %s %s", w.pace.Patience, busy)}, nil
		}
		select {
		case <-ctx.Done():
			return end{why: "interrupted"}, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// hourglass is a time that passes more slowly while the cluster is slow, so that who had to wait once gets that time
// also when all is quick again.
type hourglass struct {
	left time.Duration
	at   time.Time // when it was looked at last
}

// over tells whether the time is over, on a cluster that has been slow since it was looked at last.
func (h *hourglass) over(now time.Time, slow float64) bool {
	h.left -= time.Duration(float64(now.Sub(h.at)) / slow)
	h.at = now
	return h.left < 0
}

// scaled is a time on a cluster that is slower than usual.
func scaled(while time.Duration, slow float64) time.Duration {
	return time.Duration(float64(while) * slow)
}

// enough is how long the silence lasts that ends a step. What settles a step that did not get where it
// should does not cut short one of which nothing is expected.
func (w *world) enough(s *workload.Step, slow float64, reached, hopes bool) time.Duration {
	if reached {
		return w.need(s, slow, hopes)
	}
	return scaled(w.pace.Settle, slow)
}

// need is how long the silence lasts that ends a step whose goal is reached. A step that was refused
// changed nothing. Where more steps follow, a slow cluster gets no more time than a quick one, and
// where no fault has still to strike, silence is short: what is late is seen then. Where it is not known
// what is expected, hopes tells that something is not ready, and may become so.
func (w *world) need(s *workload.Step, slow float64, hopes bool) time.Duration {
	steps := w.trace.Steps
	last := steps[len(steps)-1]
	switch {
	case hopes && last.Refused == "" && !w.expects(s):
		return scaled(hopeful*w.pace.Unsure, slow)
	case len(steps) == 1 && w.pace.Listen > 0:
		return scaled(w.pace.Listen, slow)
	case last.Refused != "":
		return w.pace.Quiet
	case !w.expects(s):
		return scaled(w.pace.Unsure, slow)
	case len(steps) == len(w.plan.Workload.Steps):
		return scaled(w.pace.Quiet, max(slow/mild, 1))
	case w.awaits(s.Name):
		return w.pace.Quiet
	}
	return w.pace.Quiet / brief
}

// awaits tells whether a fault has still to strike in a step, or may.
func (w *world) awaits(step string) bool {
	return slices.ContainsFunc(w.script.Pending(), func(f fault.Fault) bool { return f.On.Step == "" || f.On.Step == step })
}

// expects tells whether it is known what a step leads to.
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
		return "a fault goes on", 0
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
	if quiet < w.pace.Quiet/brief {
		return "", quiet // it is too early to ask for more
	}
	if late := w.late(since); late != "" {
		w.waited = time.Now()
		return late, 0
	}
	return "", quiet
}

// onlyReads tells whether nothing has happened for long but that the operator read.
func (w *world) onlyReads(since time.Time) bool {
	long := scaled(timing.reading, max(w.Witness.Slowness()/mild, 1))
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
			return "the operator goes on: " + r.String()
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
