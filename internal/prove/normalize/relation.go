package normalize

import (
	"fmt"

	"github.com/operon-framework/operon/internal/prove/finding"
)

// spot is a field of one object.
type spot struct{ object, path string }

// relation is a pair of fields with random values that are equal in each run, for example the hash of a password in an
// annotation and in a status.
type relation struct{ one, other spot }

// shortest is the minimum length of a value, as JSON, that is not equal to another value by chance. Counters are shorter.
const shortest = 10

// relate finds the pairs of fields whose values differ between two states and are equal within each state. A relation
// that does not hold in one of the states is discarded.
func (n *Noise) relate(a, b *State) {
	there, then := n.random(a), n.random(b)
	for one, value := range there {
		if then[one] == "" || then[one] == value {
			continue
		}
		for other, equal := range there {
			pair := relation{one, other}
			if !before(one, other) || then[other] == "" {
				continue
			}
			holds := equal == value && then[other] == then[one]
			if _, known := n.related[pair]; holds || known {
				n.related[pair] = holds && (!known || n.related[pair])
			}
		}
	}
}

// before orders fields, so that each pair of fields is only one relation.
func before(one, other spot) bool {
	return one.object < other.object || one.object == other.object && one.path < other.path
}

// random returns the values of a state that differ between runs, for objects that have the same name in each run.
func (n *Noise) random(s *State) map[spot]string {
	values := map[spot]string{}
	for _, o := range s.Objects {
		if o.Generated || n.isNamed(o.kind()) {
			continue
		}
		for path, value := range o.Fields {
			if len(value) >= shortest && n.paths[field{o.kind(), unnumbered(path)}] && !n.History.tells(o.kind(), path) {
				values[spot{o.id(), path}] = value
			}
		}
	}
	return values
}

// unrelated returns the relations that hold in one state and not in the other.
func unrelated(want, got *State, noise *Noise) []Difference {
	if noise == nil || len(noise.related) == 0 {
		return nil
	}
	was, is := noise.random(want), noise.random(got)
	var all []Difference
	for _, o := range got.Objects {
		for _, path := range o.paths() {
			other := spot{o.id(), path}
			for pair, holds := range noise.related {
				one := pair.one
				if !holds || pair.other != other || was[one] == "" || was[one] != was[other] || is[one] == "" || is[other] == "" || is[one] == is[other] {
					continue
				}
				all = append(all, Difference{Object: o, Difference: finding.Difference{
					Of: o.String(), Path: path, Want: fmt.Sprintf("%q", "the value of "+one.path), Got: `"another value"`,
				}})
				break
			}
		}
	}
	return all
}
