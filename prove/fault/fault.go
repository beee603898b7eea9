package fault

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kind is what happens to a request.
type Kind string

// Kinds of faults. The first seven are answers instead of the server's own.
const (
	// Conflict is 409: somebody else has changed the object.
	Conflict Kind = "conflict"
	// AlreadyExists is 409: there is an object of the name.
	AlreadyExists Kind = "already-exists"
	// NotFound is 404: there is no such object.
	NotFound Kind = "not-found"
	// Throttle is 429, with Retry-After.
	Throttle Kind = "throttle"
	// ServerError is 500.
	ServerError Kind = "server-error"
	// Unavailable is 503, without Retry-After.
	Unavailable Kind = "unavailable"
	// TimeOut is 504: the server cannot tell whether it did what was asked.
	TimeOut Kind = "time-out"

	// Cut ends the request without an answer: the connection of HTTP/1.1, the stream of HTTP/2.
	// After the answer it is the connection in both, with what else runs on it.
	Cut Kind = "cut"
	// Delay holds the request, or the answer, for a time.
	Delay Kind = "delay"
	// CutWatch cuts a watch after a number of events.
	CutWatch Kind = "cut-watch"
	// Kill calls what ends the operator. Before the answer the request is cut, too.
	Kill Kind = "kill"
)

// Moment is when a fault strikes.
type Moment string

// Moments.
const (
	// Before the request reaches the server: it takes no effect. This is the default.
	Before Moment = "before"
	// Effect: after the server did what it was asked, before the operator learns of it.
	Effect Moment = "effect"
	// Answer: after the operator was answered.
	Answer Moment = "answer"
)

// DefaultRetryAfter is what a throttle asks for where nothing else is said, in seconds.
const DefaultRetryAfter = 1

// Fault is one thing that goes wrong.
type Fault struct {
	// Kind is what happens.
	Kind Kind `json:"kind"`
	// Moment is when, [Before] where it is empty. That of CutWatch is empty.
	Moment Moment `json:"moment,omitempty"`
	// On chooses the requests.
	On Match `json:"on"`
	// RetryAfter is what a Throttle tells the client to wait, in seconds, [DefaultRetryAfter] where
	// it is 0.
	RetryAfter int `json:"retryAfter,omitempty"`
	// For is how long a Delay takes.
	For metav1.Duration `json:"for,omitzero"`
	// Events is how many events a watch shows before CutWatch.
	Events int `json:"events,omitempty"`
}

// moments are those that a kind can strike at. The first is the default.
var moments = map[Kind][]Moment{
	Conflict: {Before, Effect}, AlreadyExists: {Before, Effect}, NotFound: {Before, Effect},
	Throttle: {Before, Effect}, ServerError: {Before, Effect}, Unavailable: {Before, Effect},
	TimeOut: {Before, Effect}, Delay: {Before, Effect},
	Cut: {Before, Effect, Answer}, Kill: {Before, Effect, Answer},
	CutWatch: {""},
}

// checked returns the fault with its defaults, or what is wrong with it.
func (f Fault) checked() (Fault, error) {
	can, known := moments[f.Kind]
	if !known {
		return f, fmt.Errorf("there is no fault %q", f.Kind)
	}
	if f.Moment == "" {
		f.Moment = can[0]
	}
	if !slices.Contains(can, f.Moment) {
		return f, fmt.Errorf("a fault %q cannot strike at the moment %q, only at %q", f.Kind, f.Moment, can)
	}
	if f.Kind == Throttle && f.RetryAfter == 0 {
		f.RetryAfter = DefaultRetryAfter
	}
	if f.On.Nth == 0 {
		f.On.Nth = 1
	}
	if f.On.Times == 0 {
		f.On.Times = 1
	}
	return f, f.misfit()
}

// misfit tells what of a fault does not go with the rest of it.
func (f Fault) misfit() error {
	switch {
	case f.Kind == Delay && f.For.Duration <= 0:
		return errors.New("a delay needs a time: set for")
	case f.Kind != Delay && f.For.Duration != 0:
		return fmt.Errorf("for is the time of a delay, not of %q", f.Kind)
	case f.Kind != Throttle && f.RetryAfter != 0:
		return fmt.Errorf("retryAfter belongs to a throttle, not to %q", f.Kind)
	case f.RetryAfter < 0:
		return errors.New("retryAfter is less than 0")
	case f.Kind == CutWatch && f.On.Verb != "watch":
		return errors.New("only a watch can be cut after its events: set on.verb to watch")
	case f.Kind != CutWatch && f.Events != 0:
		return fmt.Errorf("events are those before a watch is cut, not of %q", f.Kind)
	case f.Events < 0:
		return errors.New("events is less than 0")
	case f.On.Nth < 0:
		return errors.New("on.nth is less than 1")
	case f.On.Times < Always:
		return fmt.Errorf("on.times is less than %d", Always)
	}
	return nil
}

// String is the fault in a line, for people.
func (f Fault) String() string {
	text := string(f.Kind)
	if f.Moment != "" && f.Moment != Before {
		text += " after the " + string(f.Moment)
	}
	return text + " on " + f.On.String()
}
