package testplan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// Options limits the number of plans, and defines the order of equally promising plans.
type Options struct {
	// Seed shuffles plans of equal promise. The same seed results in the same plans.
	Seed int64
	// Limit is the maximum number of plans. 0 means all plans.
	Limit int
}

// Of returns plans for a workload, from the traces of its runs without faults. The most
// promising plans come first.
//
// Guarantees: the same traces and options result in the same plans. Plans that would show the same are
// merged: the same kind of fault at the same kind of write between the same neighbors. Each class of
// fault is among the first plans, if there is a place for it.
//
// Assumptions: there is at least one trace. With several traces, places that are not the same in all
// of them come last, because a fault there may be injected into another request.
func Of(refs []runlog.Trace, w workload.Workload, options Options) []Plan {
	if len(refs) == 0 {
		return nil
	}
	course := read(refs)
	var all []proposal
	for _, propose := range proposers {
		all = append(all, propose(course)...)
	}
	all = ordered(different(all), options.Seed)
	if options.Limit > 0 {
		all = all[:min(len(all), options.Limit)]
	}
	plans := make([]Plan, 0, len(all))
	for _, one := range all {
		plans = append(plans, Plan{
			Name: fmt.Sprintf("%s | %s", describe(one), w.Name), Why: one.why, Workload: w, Faults: one.faults,
		})
	}
	return plans
}

// describe describes a proposal in words.
func describe(p proposal) string {
	var words []string
	for _, f := range p.faults {
		words = append(words, f.String())
	}
	return strings.Join(words, ", then ")
}

// different returns one of each set of equivalent proposals: the first, or the first one that is certain to affect the
// intended request.
func different(all []proposal) []proposal {
	index := map[string]int{}
	var kept []proposal
	for _, one := range all {
		i, known := index[one.same]
		switch {
		case !known:
			index[one.same] = len(kept)
			kept = append(kept, one)
		case one.certain && !kept[i].certain:
			kept[i] = one
		}
	}
	return kept
}

// ordered interleaves the classes: first the best proposal of each class, then the second of each, and so on. Within a
// class, the order is by promise, and then by seed.
func ordered(all []proposal, seed int64) []proposal {
	for i := range all {
		all[i].lot = shuffled(seed, all[i].same)
	}
	slices.SortFunc(all, func(a, b proposal) int {
		return cmp.Or(cmp.Compare(b.promise, a.promise), cmp.Compare(a.lot, b.lot), strings.Compare(a.same, b.same))
	})
	rows := map[string][]proposal{}
	for _, one := range all {
		rows[one.class] = append(rows[one.class], one)
	}
	mixed := make([]proposal, 0, len(all))
	for row := 0; len(mixed) < len(all); row++ {
		for _, class := range classes {
			if row < len(rows[class]) {
				mixed = append(mixed, rows[class][row])
			}
		}
	}
	return mixed
}
