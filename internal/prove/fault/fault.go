package fault

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kind is what happens to a request, or with it.
type Kind string

// Kinds of faults. The first seven replace the server's own answer.
const (
	// Conflict is 409: another client has changed the object.
	Conflict Kind = "conflict"
	// AlreadyExists is 409: an object with the name exists.
	AlreadyExists Kind = "already-exists"
	// NotFound is 404: the object does not exist.
	NotFound Kind = "not-found"
	// Throttle is 429, with Retry-After.
	Throttle Kind = "throttle"
	// ServerError is 500.
	ServerError Kind = "server-error"
	// Unavailable is 503, without Retry-After.
	Unavailable Kind = "unavailable"
	// TimeOut is 504: it is unknown whether the server executed the request.
	TimeOut Kind = "time-out"

	// Cut ends the request without an answer: the connection of HTTP/1.1, the stream of HTTP/2.
	// After the answer it cuts the connection in both cases, including other requests on it.
	Cut Kind = "cut"
	// Delay holds the request, the answer, or an event, for a time.
	Delay Kind = "delay"
	// CutWatch cuts a watch after a number of events.
	CutWatch Kind = "cut-watch"
	// Kill calls the function that ends the operator. Before the answer, the request is cut, too.
	Kill Kind = "kill"

	// Hold freezes the operator's view: watches, and lists that may be stale, show nothing newer than the moment. When the
	// operator is quiet, everything is shown, in order. At a write, the result of the write is not shown either, at any moment.
	Hold Kind = "hold"
	// Skip is a Hold that discards the held events at its end: the watches end with 410, and the
	// operator never sees the states in between.
	Skip Kind = "skip"
	// Relist ends watches with 410.
	Relist Kind = "relist"
	// Past kills the operator as Kill does, and shows the next instance the state at an
	// earlier moment, until it is quiet.
	Past Kind = "past"
	// Outage cuts all connections and accepts none for a time, like a server that restarts.
	Outage Kind = "outage"
	// Expire replaces the operator's token with a new one in its file, and refuses the old one with
	// 401 for a time.
	Expire Kind = "expire"
	// Overlap calls the function that starts a second instance beside the first.
	Overlap Kind = "overlap"
	// LoseLease gives the operator's lease to another holder for a time.
	LoseLease Kind = "lose-lease"
)

// Moment is when a fault strikes.
type Moment string

// Moments.
const (
	// Before the request reaches the server: it takes no effect. Before the event is shown. This is
	// the default.
	Before Moment = "before"
	// Effect: after the server executed the request, before the operator receives the answer.
	Effect Moment = "effect"
	// Answer: after the operator received the answer.
	Answer Moment = "answer"
)

// Defaults of faults.
const (
	// DefaultRetryAfter is the Retry-After of a Throttle, in seconds.
	DefaultRetryAfter = 1
	// DefaultQuiet is how long an operator has to be quiet before its view is no longer frozen.
	DefaultQuiet = 200 * time.Millisecond
	// DefaultAwake is the same for an instance that restarts: its caches have to fill before it does anything.
	DefaultAwake = time.Second
	// DefaultHold is the longest time that a view is frozen.
	DefaultHold = 2 * time.Second
	// DefaultPast is the same for an instance that restarts.
	DefaultPast = 4 * time.Second
	// DefaultOutage is how long a server is unavailable.
	DefaultOutage = time.Second
	// DefaultExpire is how long an old token is refused. An operator whose tokens come from the
	// kubelet has a minute to read the new one, so the old one is not refused permanently.
	DefaultExpire = time.Second
	// DefaultLease is how long another holder has the lease: the default duration of a lease.
	DefaultLease = 15 * time.Second
)

// Fault is one fault to inject.
type Fault struct {
	// Kind is the effect.
	Kind Kind `json:"kind"`
	// Moment is when the fault strikes; empty: [Before]. It is empty for CutWatch.
	Moment Moment `json:"moment,omitempty"`
	// On chooses the requests, or the events.
	On Match `json:"on"`
	// RetryAfter is how long a Throttle tells the client to wait, in seconds. 0: [DefaultRetryAfter].
	RetryAfter int `json:"retryAfter,omitempty"`
	// For is the duration of a Delay, an Outage, an Expire and a LoseLease, and the longest duration of a Hold, a Skip and a
	// Past. 0: the default of the kind.
	For metav1.Duration `json:"for,omitzero"`
	// Quiet is how long the operator has to be quiet before a Hold, a Skip or a Past ends.
	// 0: [DefaultQuiet], and [DefaultAwake] for a Past.
	Quiet metav1.Duration `json:"quiet,omitzero"`
	// View is the resource that Hold, Skip, Relist and Past affect, in the plural. Empty: all.
	View string `json:"view,omitempty"`
	// Back is how many effective writes of the operator Past goes back: 1 if none of Back, Step and
	// To is set.
	Back int `json:"back,omitempty"`
	// Step is the step of the workload to the end of which Past goes back.
	Step string `json:"step,omitempty"`
	// To chooses a write of the operator. Past goes back to the moment just before it.
	To Match `json:"to,omitzero"`
	// Events is how many events a watch shows before CutWatch.
	Events int `json:"events,omitempty"`
}

// Decides reports whether a fault determines the outcome of the request that it strikes. Any number
// of other faults may strike the request, too.
func (f Fault) Decides() bool {
	switch f.Kind {
	case Delay, CutWatch, Hold, Skip, Relist, Overlap, LoseLease:
		return false
	}
	return true
}

// String returns the fault as one line for people.
func (f Fault) String() string {
	text := string(f.Kind)
	if f.View != "" {
		text += " " + f.View
	}
	if f.Moment != "" && f.Moment != Before {
		text += " after the " + string(f.Moment)
	}
	text += " on " + f.On.String()
	if f.To != (Match{}) {
		text += ", back before " + f.To.String()
	}
	return text
}

// whole returns the fault with its defaults.
func (f Fault) whole() Fault {
	rule := rules[f.Kind]
	f.Moment = cmp.Or(f.Moment, rule.moments[0])
	f.On.Nth = cmp.Or(f.On.Nth, 1)
	f.On.Times = cmp.Or(f.On.Times, 1)
	f.For.Duration = cmp.Or(f.For.Duration, rule.lasts)
	if f.Kind == Throttle {
		f.RetryAfter = cmp.Or(f.RetryAfter, DefaultRetryAfter)
	}
	switch {
	case f.Kind == Past:
		f.Quiet.Duration = cmp.Or(f.Quiet.Duration, DefaultAwake)
	case rule.views && f.Kind != Relist:
		f.Quiet.Duration = cmp.Or(f.Quiet.Duration, DefaultQuiet)
	}
	switch {
	case f.Kind == Past && f.To != (Match{}):
		f.To.Nth = cmp.Or(f.To.Nth, 1)
	case f.Kind == Past && f.Step == "":
		f.Back = cmp.Or(f.Back, 1)
	}
	return f
}
