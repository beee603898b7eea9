package fault

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// rule describes which settings are valid for a kind.
type rule struct {
	// moments are the moments at which the kind can be injected. The first is the default.
	moments []Moment
	// lasts is the default duration. timed marks a kind that requires a duration and does not have a default.
	lasts time.Duration
	timed bool
	// views marks a kind that affects the operator's view. events marks a kind that a watch event can trigger.
	views, events bool
}

// early and all are sets of moments that several kinds share.
var early, all = []Moment{Before, Effect}, []Moment{Before, Effect, Answer}

var rules = map[Kind]rule{
	Conflict: {moments: early}, AlreadyExists: {moments: early}, NotFound: {moments: early},
	Throttle: {moments: early}, ServerError: {moments: early}, Unavailable: {moments: early},
	TimeOut: {moments: early}, CutWatch: {moments: []Moment{""}},
	Delay:     {moments: early, timed: true, events: true},
	Cut:       {moments: all, events: true},
	Kill:      {moments: all, events: true},
	Hold:      {moments: early, lasts: DefaultHold, views: true, events: true},
	Skip:      {moments: early, lasts: DefaultHold, views: true, events: true},
	Relist:    {moments: early, views: true, events: true},
	Past:      {moments: all, lasts: DefaultPast, views: true, events: true},
	Outage:    {moments: all, lasts: DefaultOutage, events: true},
	Expire:    {moments: early, lasts: DefaultExpire, events: true},
	Overlap:   {moments: early, events: true},
	LoseLease: {moments: early, lasts: DefaultLease, events: true},
}

// checked returns the fault with its defaults, or an error that describes what is invalid.
func (f Fault) checked() (Fault, error) {
	rule, known := rules[f.Kind]
	if !known {
		return f, fmt.Errorf("unknown fault %q", f.Kind)
	}
	if f.Moment != "" && !slices.Contains(rule.moments, f.Moment) {
		return f, fmt.Errorf("the fault %q cannot fire at the moment %q, only at %q", f.Kind, f.Moment, rule.moments)
	}
	if err := errors.Join(f.misfit(rule), f.On.misfit(), f.To.misfit()); err != nil {
		return f, err
	}
	f = f.whole()
	if f.On.Verb == Event && (!rule.events || f.Moment != Before) {
		return f, fmt.Errorf("an event cannot trigger %q at the moment %s", f.Kind, f.Moment)
	}
	return f, nil
}

// misfit returns an error if a setting of the fault is not valid for its kind.
func (f Fault) misfit(rule rule) error {
	ends := rule.views && f.Kind != Relist
	switch {
	case rule.timed && f.For.Duration <= 0:
		return fmt.Errorf("%s needs a duration: set for", f.Kind)
	case !rule.timed && rule.lasts == 0 && f.For.Duration != 0:
		return fmt.Errorf("for is not a field of %q", f.Kind)
	case f.For.Duration < 0, f.Quiet.Duration < 0:
		return errors.New("durations must not be negative")
	case !ends && f.Quiet.Duration != 0:
		return fmt.Errorf("quiet is not a field of %q", f.Kind)
	case !rule.views && f.View != "":
		return fmt.Errorf("view is not a field of %q", f.Kind)
	case f.Kind != Throttle && f.RetryAfter != 0:
		return fmt.Errorf("retryAfter is not a field of %q, only of throttle", f.Kind)
	case f.RetryAfter < 0:
		return errors.New("retryAfter must not be negative")
	case f.Kind != Past && (f.Back != 0 || f.Step != "" || f.To != (Match{})):
		return fmt.Errorf("back, step and to are not fields of %q", f.Kind)
	case f.Back < 0, f.pasts() > 1:
		return errors.New("set one of back, step and to, back to 1 or more")
	case f.To.Verb == Event:
		return errors.New("to selects a request of the operator, not an event")
	case f.Kind == CutWatch && f.On.Verb != "watch":
		return errors.New("only a watch can end after events: set on.verb to watch")
	case f.Kind != CutWatch && f.Events != 0:
		return fmt.Errorf("events is not a field of %q", f.Kind)
	case f.Events < 0:
		return errors.New("events must not be negative")
	}
	return nil
}

// pasts returns how many of Back, Step and To are set.
func (f Fault) pasts() int {
	n := 0
	for _, chosen := range []bool{f.Back > 0, f.Step != "", f.To != (Match{})} {
		if chosen {
			n++
		}
	}
	return n
}

// misfit returns an error if the match is not valid.
func (m Match) misfit() error {
	switch {
	case m.Type != "" && m.Verb != Event:
		return errors.New("on.type requires on.verb: event")
	case m.Type != "" && !slices.Contains(types, m.Type):
		return fmt.Errorf("on.type is %q, want one of %q", m.Type, types)
	case m.Nth < 0:
		return errors.New("on.nth must be at least 1")
	case m.Times < Always:
		return fmt.Errorf("on.times must be at least %d", Always)
	}
	return nil
}
