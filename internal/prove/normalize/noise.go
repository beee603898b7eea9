package normalize

import (
	"regexp"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Noise is what differs between runs that should be equal. The zero value is empty.
type Noise struct {
	// History is declared and not learned. It has to be set before anything is learned.
	History History

	// paths are fields with random values, by kind, without the numbers of list elements. Only the values are not compared.
	paths map[field]bool
	// optional are fields that do not exist in every run, and loose are fields whose position differs: in loose, the names of
	// list elements are left out, too.
	optional, loose map[field]bool
	// related are the random values that are equal in each run: false if one run disproved it.
	related map[relation]bool
	// named are kinds whose objects have different names in each run.
	named map[schema.GroupKind]bool
	// fleeting are objects that do not exist in every run; counted are counts that differ between runs.
	fleeting map[string]bool
	counted  map[Count]bool
}

// field is a field of a kind.
type field struct {
	kind schema.GroupKind
	path string
}

// Learn adds what differs between two states that should be equal: the ends of one step in two
// runs without faults.
//
// Guarantees: [Diff] of the two with the noise is empty afterwards.
// Caveats: a value that was equal by chance is not known to be noise. Runs whose clocks show the
// same second teach nothing about times.
func (n *Noise) Learn(a, b *State) {
	n.init()
	for range maxRounds {
		if len(Diff(a, b, n)) == 0 {
			break
		}
		n.learn(a, b)
	}
	n.relate(a, b)
}

// maxRounds is how often two states are compared: known noise may change which
// objects are considered the same.
const maxRounds = 8

func (n *Noise) learn(a, b *State) {
	m := matched(a, b, n)
	for _, one := range m.missing {
		for _, other := range m.extra {
			if one.kind() == other.kind() && one.Owner == other.Owner && !one.Generated && !other.Generated {
				n.named[one.kind()] = true
			}
		}
	}
	m = matched(a, b, n)
	for _, one := range append(m.missing, m.extra...) {
		n.fleeting[one.id()] = true
	}
	for _, pair := range m.pairs {
		for _, difference := range compare(pair.want, pair.got, n) {
			if !difference.isOfValue() {
				n.optional[field{pair.want.kind(), unnumbered(difference.path)}] = true
				n.loose[field{pair.want.kind(), unnamed(difference.path)}] = true
				continue
			}
			n.paths[field{pair.want.kind(), unnumbered(difference.path)}] = true
			n.paths[field{pair.want.kind(), uncounted(difference.path)}] = true
		}
	}
	for count := range both(a.Counts, b.Counts) {
		if a.Counts[count] != b.Counts[count] {
			n.counted[count] = true
		}
	}
}

func (n *Noise) init() {
	if n.paths == nil {
		n.paths, n.optional, n.loose = map[field]bool{}, map[field]bool{}, map[field]bool{}
		n.related = map[relation]bool{}
		n.named, n.fleeting, n.counted = map[schema.GroupKind]bool{}, map[string]bool{}, map[Count]bool{}
	}
}

// hides reports whether a field with different values in two states is not compared. A missing value is "".
func (n *Noise) hides(kind schema.GroupKind, d unequal) bool {
	if n == nil {
		return false
	}
	if n.History.tells(kind, d.path) || n.optional[field{kind, unnumbered(d.path)}] || n.loose[field{kind, unnamed(d.path)}] {
		return true
	}
	// A value that is random in some elements is random in all; an additional or missing element is not random.
	return d.isOfValue() && (n.paths[field{kind, unnumbered(d.path)}] || n.paths[field{kind, uncounted(d.path)}])
}

// isOfValue reports whether the field exists in both objects. An empty text counts as missing.
func (d unequal) isOfValue() bool {
	return d.want != "" && d.got != "" && d.want != `""` && d.got != `""`
}

func (n *Noise) isNamed(kind schema.GroupKind) bool { return n != nil && n.named[kind] }

var (
	number  = regexp.MustCompile(`\[\d+\]`)
	counted = regexp.MustCompile(`\.\d+(\.|\[|$)`)
	element = regexp.MustCompile(`\[[^"\]][^\]]*\]`)
)

// Place returns a path without the numbers of list elements: it is the same for each of them.
func Place(path string) string { return unnumbered(path) }

// unnumbered returns a path with a star for each number of a list element.
func unnumbered(path string) string { return number.ReplaceAllString(path, "[*]") }

// uncounted is unnumbered with a star also for each map key that is a number: such a map counts its
// elements as a list does.
func uncounted(path string) string { return counted.ReplaceAllString(unnumbered(path), ".*$1") }

// unnamed returns a path with a star for each name of a list element.
func unnamed(path string) string { return element.ReplaceAllString(path, "[*]") }
