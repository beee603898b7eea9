package fault

import (
	"fmt"
	"slices"
	"sync"

	"github.com/operon-framework/operon/internal/prove/requestlog"
)

// Script holds the faults of one run and their progress. It outlives the operator: counting continues after a restart. It is
// safe for concurrent use. A nil Script has no faults.
type Script struct {
	mu    sync.Mutex
	armed []armed
	step  string
}

// armed is a fault with the number of matching requests, and the number of requests into which it was injected.
type armed struct {
	Fault
	seen, struck int
	// passed is the number of requests that matched To.
	passed int
}

// NewScript returns a script of faults, or an error that describes what is wrong with one of them.
func NewScript(faults ...Fault) (*Script, error) {
	s := &Script{}
	for i, f := range faults {
		whole, err := f.checked()
		if err != nil {
			return nil, fmt.Errorf("fault %d: %w", i+1, err)
		}
		s.armed = append(s.armed, armed{Fault: whole})
	}
	return s, nil
}

// At records that a step of the workload begins.
func (s *Script) At(step string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.step = step
}

// Next counts a request and returns the faults to inject into it: the first of those that decide its outcome, and all others.
func (s *Script) Next(r requestlog.Request) []Fault { return s.next(r, "") }

// Passes counts a request as one before which a Past goes back, and returns the matches of the Past faults that select it.
func (s *Script) Passes(r requestlog.Request) (chosen []Match) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.armed {
		a := &s.armed[i]
		if a.To == (Match{}) || !a.To.Fits(r) || !fits(a.To.Step, s.step) {
			continue
		}
		if a.passed++; a.passed == a.To.Nth {
			chosen = append(chosen, a.To)
		}
	}
	return chosen
}

// Event counts an event of a type that a watch is about to show, and returns the faults to inject, as [Script.Next] does. It
// uses the group, resource, namespace and name of the request.
func (s *Script) Event(of requestlog.Request, kind string) []Fault {
	of.Verb, of.Subresource = Event, ""
	return s.next(of, kind)
}

func (s *Script) next(r requestlog.Request, event string) (struck []Fault) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	decided := false
	for i := range s.armed {
		a := &s.armed[i]
		if !a.On.Fits(r) || !fits(a.On.Type, event) || !fits(a.On.Step, s.step) {
			continue
		}
		a.seen++
		if !a.On.strikes(a.seen) || decided && a.Decides() {
			continue
		}
		decided = decided || a.Decides()
		a.struck++
		struck = append(struck, a.Fault)
	}
	return struck
}

// Pending returns the faults that were not injected yet. A run that ends with a pending fault has not tested what it was
// meant to test.
func (s *Script) Pending() []Fault { return s.where(func(a armed) bool { return a.struck == 0 }) }

// Struck returns the faults that were injected.
func (s *Script) Struck() []Fault { return s.where(func(a armed) bool { return a.struck > 0 }) }

func (s *Script) where(is func(armed) bool) []Fault {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Fault
	for _, a := range s.armed {
		if is(a) {
			found = append(found, a.Fault)
		}
	}
	return found
}

// Has reports whether the script has a fault of one of the kinds.
func (s *Script) Has(kinds ...Kind) bool {
	return len(s.where(func(a armed) bool { return slices.Contains(kinds, a.Kind) })) > 0
}

// Watches reports whether a fault is triggered by an event.
func (s *Script) Watches() bool {
	return len(s.where(func(a armed) bool { return a.On.Verb == Event })) > 0
}
