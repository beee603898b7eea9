package fault

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kind is the effect of a fault.
type Kind string

// Kinds of faults. The first seven replace the response of the API server.
const (
	// Conflict responds with 409: another client has changed the object.
	Conflict Kind = "conflict"
	// AlreadyExists responds with 409: an object with the name exists.
	AlreadyExists Kind = "already-exists"
	// NotFound responds with 404: the object does not exist.
	NotFound Kind = "not-found"
	// Throttle responds with 429 and a Retry-After header.
	Throttle Kind = "throttle"
	// ServerError is 500.
	ServerError Kind = "server-error"
	// Unavailable responds with 503, without a Retry-After header.
	Unavailable Kind = "unavailable"
	// TimeOut responds with 504: it is unknown whether the server executed the request.
	TimeOut Kind = "time-out"

	// Cut ends the request without a response: it closes the connection of HTTP/1.1, or the stream of HTTP/2.
	// After the response it closes the connection in both cases, including other requests on it.
	Cut Kind = "cut"
	// Delay delays the request, the response, or a watch event.
	Delay Kind = "delay"
	// CutWatch ends a watch after a number of events.
	CutWatch Kind = "cut-watch"
	// Kill calls the function that stops the operator. Before the response, it also cuts the request.
	Kill Kind = "kill"

	// Hold freezes the operator's view: watches, and lists that may be stale, show nothing newer than the moment. When the
	// operator is quiet, everything is shown, in order. If the fault is triggered by a write, the result of the write is not shown either,
	// at any moment.
	Hold Kind = "hold"
	// Skip is a Hold that discards the held events at its end: the watches end with 410, and the
	// operator never receives the intermediate states.
	Skip Kind = "skip"
	// Relist ends watches with 410, so that clients have to list again.
	Relist Kind = "relist"
	// Past stops the operator as Kill does, and shows the next instance an
	// earlier state, until it is quiet.
	Past Kind = "past"
	// Outage closes all connections and accepts no new ones for a time, like a server that restarts.
	Outage Kind = "outage"
	// Expire replaces the operator's token with a new one in its file, and rejects the old one with
	// 401 for a time.
	Expire Kind = "expire"
	// Overlap calls the function that starts a second instance beside the first.
	Overlap Kind = "overlap"
	// LoseLease gives the operator's lease to another holder for a time.
	LoseLease Kind = "lose-lease"
)

// Moment is when a fault is injected.
type Moment string

// Moments.
const (
	// Before is the default: before the request reaches the server, so that it does not take effect, or before the
	// watch event is shown.
	Before Moment = "before"
	// Effect is after the server executed the request, and before the operator receives the response.
	Effect Moment = "effect"
	// Answer is after the operator received the response.
	Answer Moment = "answer"
)

// Defaults of faults.
const (
	// DefaultRetryAfter is the Retry-After of a Throttle, in seconds.
	DefaultRetryAfter = 1
	// DefaultQuiet is how long an operator has to be quiet before its view is no longer frozen.
	DefaultQuiet = 200 * time.Millisecond
	// DefaultAwake is DefaultQuiet for an instance that restarts: its caches have to fill before it acts.
	DefaultAwake = time.Second
	// DefaultHold is how long a view is frozen at most.
	DefaultHold = 2 * time.Second
	// DefaultPast is DefaultHold for an instance that restarts.
	DefaultPast = 4 * time.Second
	// DefaultOutage is how long the API server is unavailable.
	DefaultOutage = time.Second
	// DefaultExpire is how long the old token is rejected.
	DefaultExpire = time.Second
	// DefaultLease is how long another holder has the lease: the default duration of a lease.
	DefaultLease = 15 * time.Second
)

// Fault is one fault to inject.
type Fault struct {
	// Kind is the effect of the fault.
	Kind Kind `json:"kind"`
	// Moment is when the fault is injected. Empty means the first moment that the kind allows. It is empty for CutWatch.
	Moment Moment `json:"moment,omitempty"`
	// On selects the requests or the watch events.
	On Match `json:"on"`
	// RetryAfter is the Retry-After header of a Throttle, in seconds. 0 means [DefaultRetryAfter].
	RetryAfter int `json:"retryAfter,omitempty"`
	// For is how long a Delay, a frozen view, an Outage, an Expire or a lost lease lasts at most. 0 means the default of the kind; a Delay has
	// none.
	For metav1.Duration `json:"for,omitzero"`
	// Quiet is how long the operator has to be quiet before a Hold, a Skip or a Past ends. 0 means [DefaultQuiet], and
	// [DefaultAwake] for a Past.
	Quiet metav1.Duration `json:"quiet,omitzero"`
	// View is the resource that Hold, Skip, Relist and Past affect, in the plural. Empty means all resources.
	View string `json:"view,omitempty"`
	// Back is the number of writes that Past goes back. 0 means 1, if Step and To are not set either.
	Back int `json:"back,omitempty"`
	// Step is the step of the workload to whose end Past goes back.
	Step string `json:"step,omitempty"`
	// To selects a write of the operator. Past goes back to the moment just before it.
	To Match `json:"to,omitzero"`
	// Events is the number of events after which CutWatch ends a watch.
	Events int `json:"events,omitempty"`
}

// Decides reports whether a fault determines the outcome of the request into which it is injected. Any number of other faults
// may be injected into the request, too.
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
