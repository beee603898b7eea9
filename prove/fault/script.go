package fault

import (
	"fmt"
	"sync"

	"github.com/operon-framework/operon/prove/record"
)

// Script is the faults of one run, and how far it is. It outlives the operator: what is counted
// goes on after a restart. It may be used by several goroutines. A nil Script has no faults.
type Script struct {
	mu    sync.Mutex
	armed []armed
}

// armed is a fault with the number of requests that fitted, and of those it struck.
type armed struct {
	Fault
	seen, struck int
}

// NewScript returns a script of faults, or what is wrong with one of them.
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

// Next counts a request and returns the fault that strikes it. Where several would, the first
// of them does.
func (s *Script) Next(r record.Request) (Fault, bool) {
	if s == nil {
		return Fault{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var chosen *armed
	for i := range s.armed {
		a := &s.armed[i]
		if !a.On.Fits(r) {
			continue
		}
		a.seen++
		if chosen == nil && a.On.strikes(a.seen) {
			chosen = a
		}
	}
	if chosen == nil {
		return Fault{}, false
	}
	chosen.struck++
	return chosen.Fault, true
}

// Pending returns the faults that have struck no request yet. A run that ends with one has not
// shown what it was to show.
func (s *Script) Pending() []Fault {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var left []Fault
	for _, a := range s.armed {
		if a.struck == 0 {
			left = append(left, a.Fault)
		}
	}
	return left
}

// Kills tells whether one of the faults ends the operator.
func (s *Script) Kills() bool {
	if s == nil {
		return false
	}
	for _, a := range s.armed {
		if a.Kind == Kill {
			return true
		}
	}
	return false
}
