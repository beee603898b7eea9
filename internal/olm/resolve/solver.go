package resolve

import (
	"slices"
	"time"

	"github.com/go-air/gini"
	"github.com/go-air/gini/logic"
	"github.com/go-air/gini/z"
)

// solver is a SAT solver whose constraints have names. Its answers are used only as yes or no, so that the result does not depend on how it
// searches.
type solver struct {
	circuit *logic.C
	sat     *gini.Gini
	// constraints are assumed in each question, so that a conflict can be explained by some of them.
	constraints []z.Lit
	about       map[z.Lit]constraintText
	// decided are the choices so far.
	decided []z.Lit
	// solved means that the solver has a solution for all its clauses.
	solved bool
	// limit is the time for a question. exhausted means that one took longer, and that answers mean nothing.
	limit     time.Duration
	exhausted bool
	counts    map[string]*counter
}

// counter has literals that are true if at least so many wishes are.
type counter struct {
	sorted  *logic.CardSort
	encoded map[z.Lit]bool
}

func newSolver(limit time.Duration) *solver {
	return &solver{limit: limit, circuit: logic.NewC(), sat: gini.New(), about: map[z.Lit]constraintText{}, counts: map[string]*counter{}}
}

func (s *solver) literal() z.Lit { return s.circuit.Lit() }

// clause adds the condition that at least one of the literals is true.
func (s *solver) clause(literals ...z.Lit) {
	for _, one := range literals {
		s.sat.Add(one)
	}
	s.sat.Add(z.LitNull)
	s.solved = false
}

// constraint returns a literal that switches the clauses of a constraint on: each of them contains its negation.
func (s *solver) constraint(text constraintText) z.Lit {
	on := s.literal()
	s.constraints = append(s.constraints, on)
	s.about[on] = text
	return on
}

// feasible reports whether a solution exists with all constraints, the choices so far and further literals.
func (s *solver) feasible(further ...z.Lit) bool {
	if s.solved && s.holds(s.decided) && s.holds(further) {
		return true
	}
	s.sat.Assume(s.constraints...)
	s.sat.Assume(s.decided...)
	s.sat.Assume(further...)
	s.solved = s.solve() > 0
	return s.solved
}

// solve returns 1 if a solution exists, -1 if none exists, and 0 if the limit was exceeded.
func (s *solver) solve() int {
	if s.exhausted {
		return 0
	}
	answer := s.sat.Try(s.limit)
	s.exhausted = answer == 0
	return answer
}

// holds reports whether all literals are true in the last solution.
func (s *solver) holds(literals []z.Lit) bool {
	return !slices.ContainsFunc(literals, func(one z.Lit) bool { return !s.sat.Value(one) })
}

func (s *solver) decide(one z.Lit) { s.decided = append(s.decided, one) }

// prefer decides for the literal if that is feasible, or against it.
func (s *solver) prefer(one z.Lit) bool {
	if s.feasible(one) {
		s.decide(one)
		return true
	}
	s.decide(one.Not())
	return false
}

// maximize decides for as many of the literals as possible. Of several largest sets, it takes the one with the earlier literals. Repeated calls
// for the same purpose have the same wishes.
func (s *solver) maximize(purpose string, wishes []z.Lit) {
	if len(wishes) == 0 {
		return
	}
	if s.feasible(wishes...) {
		s.decided = append(s.decided, wishes...)
		return
	}
	for count := len(wishes) - 1; count > 0; count-- {
		enough := s.atLeast(purpose, count, wishes)
		if s.feasible(enough) {
			s.decide(enough)
			break
		}
	}
	for _, one := range wishes {
		s.prefer(one)
	}
}

// atLeast returns a literal that is true only if so many of the wishes are.
func (s *solver) atLeast(purpose string, count int, wishes []z.Lit) z.Lit {
	known := s.counts[purpose]
	if known == nil {
		known = &counter{s.circuit.CardSort(slices.Clone(wishes)), map[z.Lit]bool{}}
		s.counts[purpose] = known
	}
	enough := known.sorted.Geq(count)
	if !known.encoded[enough] {
		known.encoded[enough] = true
		s.circuit.ToCnfFrom(s.sat, enough)
		s.solved = false
	}
	return enough
}

// block is how many literals are compared in pairs. Pairs need no further variables, which cost more than clauses, but their number grows with
// the square.
const block = 16

// atMostOne is the constraint that at most one of a growing list of literals is true.
type atMostOne struct {
	on z.Lit
	// last are literals that are compared in pairs. earlier is true if one of those before them is.
	last    []z.Lit
	earlier z.Lit
}

// add adds a literal. The constraint is made when there is a second one.
func (a *atMostOne) add(to *solver, one z.Lit, about constraintText) {
	if len(a.last) == 1 && a.on == z.LitNull {
		a.on = to.constraint(about)
	}
	others := a.last
	if a.earlier != z.LitNull {
		others = append(slices.Clone(others), a.earlier)
	}
	for _, other := range others {
		to.clause(a.on.Not(), one.Not(), other.Not())
	}
	a.last = append(a.last, one)
	if len(a.last) < block {
		return
	}
	next := to.literal()
	for _, other := range append(others, one) {
		to.clause(other.Not(), next)
	}
	a.last, a.earlier = nil, next
}

// conflict returns a minimal set of constraints and choices that together exclude a literal, in the order of their literals. Choices are used
// only if the constraints alone do not exclude it.
func (s *solver) conflict(of z.Lit, choices []z.Lit) []z.Lit {
	assumed := slices.Clone(s.constraints)
	core, found := s.core(append(assumed, of))
	if !found {
		core, found = s.core(append(append(slices.Clone(s.constraints), choices...), of))
	}
	if !found {
		return nil
	}
	slices.Sort(core)
	for _, one := range slices.Backward(slices.Clone(core)) {
		if one == of || !slices.Contains(core, one) {
			continue
		}
		rest := slices.DeleteFunc(slices.Clone(core), func(l z.Lit) bool { return l == one })
		if smaller, unneeded := s.core(rest); unneeded {
			core = smaller
			slices.Sort(core)
		}
	}
	return slices.DeleteFunc(core, func(l z.Lit) bool { return l == of })
}

// core returns a subset of the assumptions that has no solution, if they have none.
func (s *solver) core(assumed []z.Lit) ([]z.Lit, bool) {
	s.solved = false
	s.sat.Assume(assumed...)
	if s.solve() >= 0 {
		return nil, false
	}
	return s.sat.Why(nil), true
}
