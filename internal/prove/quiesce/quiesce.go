// Package quiesce decides when a step of a test case is over. It is pure: the caller observes the operator and the cluster, and
// Decide looks at one observation. A step is over when the operator is quiescent: nothing is in progress, every watch has delivered
// what happened (the caller compares resource versions), and nothing has happened for a time that depends on what is known of the
// step. Time is only needed for what no version shows: a retry that the operator has scheduled for later.
package quiesce

import (
	"fmt"
	"time"
)

// Pace are the times that decide when a step is over, on a cluster of usual speed.
type Pace struct {
	// Quiet is how long nothing may happen after the expected state is reached.
	Quiet time.Duration
	// Settle is how long nothing may happen while the expected state is not reached: the operator may retry later.
	Settle time.Duration
	// Unsure is how long nothing may happen in a step of which no state is expected.
	Unsure time.Duration
	// Listen is how long the operator is observed at the end of the first step. Zero: not at all.
	Listen time.Duration
	// Patience limits a step.
	Patience time.Duration
}

// Step is what is known of the current step.
type Step struct {
	// First and Last are its position among the steps of the test case.
	First, Last bool
	// Expected reports that a state is expected at its end, and Reached that this state is reached, or none is expected.
	Expected, Reached bool
	// Refused reports that the API server rejected it, so that it changed nothing.
	Refused bool
	// AwaitsFault reports that a fault may still be injected in it.
	AwaitsFault bool
	// Unready reports that some object is not ready.
	Unready bool
}

// Observation is the state of the operator and the cluster at one moment.
type Observation struct {
	// Failed states why the operator cannot continue, "" if it can.
	Failed string
	// Busy states what is in progress, "" if nothing is: a request, a fault, a watch that has not delivered a change, a workload that
	// is rolled out.
	Busy string
	// Quiet is how long nothing has happened.
	Quiet time.Duration
	// Slow is how many times slower than usual the cluster is, 1 or more.
	Slow float64
	// Polls reports that the operator reads all the time, and Churns which write it repeats without end, "" for none.
	Polls  bool
	Churns string
	// Left is what is left of Pace.Patience.
	Left time.Duration
	Step Step
}

// Decision is whether a step is over.
type Decision struct {
	Over bool
	// Quiescent reports that the operator came to rest.
	Quiescent bool
	// Reached is that of the step.
	Reached bool
	// Why is why the step ended although the operator did not come to rest.
	Why string
}

const (
	// Brief divides Quiet in a step that more steps follow: a late reaction is seen in them.
	Brief = 3
	// mild divides the slowness of the cluster where the expected state is reached. Where no state is expected, to end a step too
	// early would make a wrong reference; here little is lost.
	mild = 2.5
	// hopeful multiplies Unsure while some object is not ready: Kubernetes retries after a second, as the scheduler does.
	hopeful = 3
)

// Decide reports whether the current step is over.
func Decide(p Pace, o Observation) Decision {
	switch {
	case o.Failed != "":
		return Decision{Over: true, Why: o.Failed}
	case o.Busy == "" && o.Quiet >= Enough(p, o.Step, o.Slow):
		return Decision{Over: true, Quiescent: true, Reached: o.Step.Reached}
	case o.Polls:
		return Decision{Over: true, Reached: o.Step.Reached, Why: "the operator reads all the time"}
	case o.Churns != "":
		return Decision{Over: true, Reached: o.Step.Reached, Why: o.Churns}
	case o.Left < 0:
		return Decision{Over: true, Reached: o.Step.Reached, Why: fmt.Sprintf("after %s %s", p.Patience, o.Busy)}
	}
	return Decision{}
}

// Enough returns how long nothing may happen for a step to be over.
func Enough(p Pace, s Step, slow float64) time.Duration {
	switch {
	case !s.Reached:
		return Scaled(p.Settle, slow)
	case s.Unready && !s.Refused && !s.Expected:
		return Scaled(hopeful*p.Unsure, slow)
	case s.First && p.Listen > 0:
		return Scaled(p.Listen, slow)
	case s.Refused:
		return p.Quiet
	case !s.Expected:
		return Scaled(p.Unsure, slow)
	case s.Last:
		return Scaled(p.Quiet, Mild(slow))
	case s.AwaitsFault:
		return p.Quiet
	}
	return p.Quiet / Brief
}

// Scaled returns a time on a cluster that is slower than usual.
func Scaled(d time.Duration, slow float64) time.Duration { return time.Duration(float64(d) * slow) }

// Mild returns the part of the slowness that counts where little is lost by an early end.
func Mild(slow float64) float64 { return max(slow/mild, 1) }

// Hourglass is a time limit that runs more slowly while the cluster is slow, so that time lost to a slow phase is not
// charged after the cluster has recovered.
type Hourglass struct {
	Left time.Duration
	// At is the time of the last call of Tick.
	At time.Time
}

// Tick returns what is left of the time, on a cluster that has been slow since the last call.
func (h *Hourglass) Tick(now time.Time, slow float64) time.Duration {
	h.Left -= time.Duration(float64(now.Sub(h.At)) / slow)
	h.At = now
	return h.Left
}
