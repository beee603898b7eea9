// Package quiesce decides when a step of a test case is over. It is pure: the caller observes the operator and the
// cluster, and Decide evaluates one observation. A step is over when the operator is quiescent: nothing is in progress,
// every watch has delivered all changes (the caller compares resource versions), and nothing has happened for a time that
// depends on the known facts about the step. Time is only needed for activity that no resource version shows: a retry
// that the operator has scheduled for later.
package quiesce

import (
	"fmt"
	"time"
)

// Pace contains the times that decide when a step is over, on a cluster of usual speed.
type Pace struct {
	// Quiet is how long nothing may happen when the expected state is reached.
	Quiet time.Duration
	// Settle is how long nothing may happen while the expected state is not reached: the operator may retry later.
	Settle time.Duration
	// Unsure is how long nothing may happen in a step without an expected state.
	Unsure time.Duration
	// Listen is how long the operator is observed at the end of the first step. Zero means not at all.
	Listen time.Duration
	// Pause is how long the operator is known to do nothing before it continues: the period of an operator that polls. Zero means that
	// no pause is known.
	Pause time.Duration
	// Patience is the maximum duration of a step.
	Patience time.Duration
}

// Step contains the known facts about the current step.
type Step struct {
	// First and Last are true if it is the first or the last step of the test case.
	First, Last bool
	// Expected is true if a state is expected at the end of the step. Reached is true if this state is reached, or if none is
	// expected.
	Expected, Reached bool
	// Refused is true if the API server rejected the step, so that it changed nothing.
	Refused bool
	// AwaitsFault is true if a fault may still be injected in the step.
	AwaitsFault bool
	// Unready is true if at least one object is not ready.
	Unready bool
	// Reconciling is true if at least one object reports that the operator is working on it.
	Reconciling bool
	// Backoff is how long the operator may wait for its next retry, after a series of failed attempts.
	Backoff time.Duration
}

// Observation is the state of the operator and the cluster at one moment.
type Observation struct {
	// Failed states why the operator cannot continue. It is "" if the operator can continue.
	Failed string
	// Busy states what is in progress: a request, a fault, a watch that has not delivered a change, or a workload that
	// is being rolled out. It is "" if nothing is in progress.
	Busy string
	// Quiet is how long nothing has happened.
	Quiet time.Duration
	// Slow is how many times slower than usual the cluster is, 1 or more.
	Slow float64
	// Rhythmic reports that for some time nothing happened except what the operator repeats without end, at a moderate rate.
	Rhythmic bool
	// Churns is the write that the operator repeats without end at a high rate, or "" if there is none.
	Churns string
	// Left is the remaining part of Pace.Patience.
	Left time.Duration
	Step Step
}

// Decision states whether a step is over.
type Decision struct {
	Over bool
	// Quiescent is true if the operator became quiescent.
	Quiescent bool
	// Reached is Reached of the step.
	Reached bool
	// Why states why the step ended although the operator did not become quiescent.
	Why string
}

const (
	// Brief divides Quiet in a step that is followed by other steps: a late reaction is noticed in those.
	Brief = 3
	// mild divides the slowness of the cluster if the expected state is reached: then ending a step too early loses little.
	// If no state is expected, ending it too early would result in a wrong reference.
	mild = 2.5
	// hopeful multiplies Unsure while at least one object is not ready: Kubernetes, for example the scheduler, retries after
	// a second.
	hopeful = 3
	// patient multiplies the time while an object reports that the operator is working on it. The work may need no requests
	// for some seconds, such as the start of a program.
	patient = 5
)

// Decide reports whether the current step is over.
func Decide(p Pace, o Observation) Decision {
	switch {
	case o.Failed != "":
		return Decision{Over: true, Why: o.Failed}
	case Silent(p, o):
		return Decision{Over: true, Quiescent: true, Reached: o.Step.Reached}
	case o.Rhythmic:
		return Decision{Over: true, Quiescent: true, Reached: o.Step.Reached}
	case o.Churns != "":
		return Decision{Over: true, Reached: o.Step.Reached, Why: o.Churns}
	case o.Left < 0:
		return Decision{Over: true, Reached: o.Step.Reached, Why: fmt.Sprintf("after %s %s", p.Patience, o.Busy)}
	}
	return Decision{}
}

// Silent reports whether nothing has happened for so long that the current step is over.
func Silent(p Pace, o Observation) bool {
	if o.Left < 0 {
		o.Step.Backoff = 0 // a step does not take longer because of a retry
	}
	return o.Busy == "" && o.Quiet >= Enough(p, o.Step, o.Slow)
}

// Enough returns how long nothing may happen before a step is over.
func Enough(p Pace, s Step, slow float64) time.Duration {
	needed := ofStep(p, s, slow)
	if s.First {
		needed = max(needed, Scaled(p.Listen, slow))
	}
	if !s.Reached || !s.Expected && !s.Refused {
		needed = max(needed, Scaled(p.Pause, slow), s.Backoff)
	}
	return needed
}

// ofStep returns how long nothing may happen before a step of an operator without pauses is over.
func ofStep(p Pace, s Step, slow float64) time.Duration {
	switch {
	case !s.Reached && s.Reconciling:
		return Scaled(patient*p.Settle, slow)
	case !s.Reached:
		return Scaled(p.Settle, slow)
	case s.Reconciling && !s.Refused && !s.Expected:
		return Scaled(patient*p.Unsure, slow)
	case s.Unready && !s.Refused && !s.Expected:
		return Scaled(hopeful*p.Unsure, slow)
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

// Longest returns the longest time for which nothing may have to happen before a step is over, on a cluster of usual speed.
func Longest(p Pace) time.Duration {
	return max(p.Quiet, p.Listen, p.Pause, patient*max(p.Settle, p.Unsure))
}

// Scaled returns a duration scaled for a cluster that is slower than usual.
func Scaled(d time.Duration, slow float64) time.Duration { return time.Duration(float64(d) * slow) }

// Mild returns the reduced slowness to use if ending a step too early loses little.
func Mild(slow float64) float64 { return max(slow/mild, 1) }

// Hourglass is a time limit that runs more slowly while the cluster is slow. Time lost in a slow phase therefore does not
// count after the cluster has recovered.
type Hourglass struct {
	Left time.Duration
	// At is the time of the last call of Tick.
	At time.Time
}

// Tick returns the remaining time, if slow is the slowness of the cluster since the last call.
func (h *Hourglass) Tick(now time.Time, slow float64) time.Duration {
	h.Left -= time.Duration(float64(now.Sub(h.At)) / slow)
	h.At = now
	return h.Left
}
