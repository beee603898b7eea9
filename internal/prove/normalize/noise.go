package normalize

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Noise contains the differences between runs that should be equal. The zero value is empty.
type Noise struct {
	// History and Maps are declared, not learned. They have to be set before Learn is called.
	History History
	Maps    Maps

	// paths contains the fields with random values, by kind, without the indexes of list elements. Only the values are not
	// compared. A label or annotation with a qualified key means the same on every kind: its field has no kind.
	paths map[field]bool
	// optional contains the fields that do not exist in every run. loose contains the fields whose position differs, without
	// the names of list elements.
	optional, loose map[field]bool
	// related contains pairs of fields with random values that are equal in each run. The value is false if a run disproved that.
	related map[relation]bool
	// named contains the kinds whose objects have different names in each run.
	named map[schema.GroupKind]bool
	// fleeting contains the objects that do not exist in every run. counted contains the counts that differ between runs.
	fleeting map[string]bool
	counted  map[Count]bool
}

// field is a field of a kind.
type field struct {
	kind schema.GroupKind
	path string
}

// Learn adds the differences between two states that should be equal: the ends of one step in two
// runs without faults.
//
// Guarantees: afterwards, [Diff] of the two states with the noise is empty. Caveats: a value that was equal by chance is
// not recognized as noise. Nothing is learned about times from runs whose clocks show the same second.
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

// maxRounds is the maximum number of comparisons of two states. Noise that is already known may change which
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
			if qualified.MatchString(difference.path) {
				n.paths[field{path: difference.path}] = true
			}
		}
	}
	for count := range both(a.Counts, b.Counts) {
		if a.Counts[count] != b.Counts[count] {
			n.counted[count] = true
		}
	}
}

// Clone returns a copy that can learn more.
func (n *Noise) Clone() *Noise {
	return &Noise{
		History: n.History, Maps: n.Maps,
		paths: maps.Clone(n.paths), optional: maps.Clone(n.optional), loose: maps.Clone(n.loose),
		related: maps.Clone(n.related), named: maps.Clone(n.named), fleeting: maps.Clone(n.fleeting), counted: maps.Clone(n.counted),
	}
}

func (n *Noise) init() {
	if n.paths == nil {
		n.paths, n.optional, n.loose = map[field]bool{}, map[field]bool{}, map[field]bool{}
		n.related = map[relation]bool{}
		n.named, n.fleeting, n.counted = map[schema.GroupKind]bool{}, map[string]bool{}, map[Count]bool{}
	}
}

// hides reports whether a difference is ignored. A missing value is "".
func (n *Noise) hides(kind schema.GroupKind, d unequal) bool {
	if n == nil {
		return false
	}
	if n.History.tells(kind, d.path) || n.optional[field{kind, unnumbered(d.path)}] || n.loose[field{kind, unnamed(d.path)}] {
		return true
	}
	// A value that is random in some elements is treated as random in all of them. An additional or missing element is not
	// random.
	return d.isOfValue() && (n.paths[field{kind, unnumbered(d.path)}] || n.paths[field{kind, uncounted(d.path)}] || n.paths[field{path: d.path}])
}

// isOfValue reports whether the field exists in both objects. An empty string counts as missing.
func (d unequal) isOfValue() bool {
	return d.want != "" && d.got != "" && d.want != `""` && d.got != `""`
}

func (n *Noise) isNamed(kind schema.GroupKind) bool { return n != nil && n.named[kind] }

var (
	number  = regexp.MustCompile(`\[\d+\]`)
	counted = regexp.MustCompile(`\.\d+(\.|\[|$)`)
	// qualified matches labels and annotations with a prefix, such as example.com/hash.
	qualified = regexp.MustCompile(`^metadata\.(labels|annotations)\b.*/`)
	element   = regexp.MustCompile(`\[[^"\]][^\]]*\]`)
)

// Words returns a sentence that names what is not compared because it differs between runs without faults, or "" if there is nothing. It
// names kinds and fields only: names and keys may be random, or belong to users. Fields with random values are not mentioned, because their
// presence is compared.
func (n *Noise) Words() string {
	var all []string
	for f := range n.optional {
		all = append(all, briefly(f.path)+" in some objects of the kind "+f.kind.Kind)
	}
	for kind := range n.named {
		all = append(all, "the names of the kind "+kind.Kind)
	}
	for id := range n.fleeting {
		kind, _, _ := strings.Cut(id, ".")
		all = append(all, "some objects of the kind "+kind)
	}
	for count := range n.counted {
		all = append(all, "the number of objects of the kind "+count.Kind)
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	all = slices.Compact(all)
	more := ""
	if n := len(all) - maxWords; n > 0 {
		all, more = all[:maxWords], fmt.Sprintf(" and %d more", n)
	}
	return "not compared, because it differs between runs without faults: " + strings.Join(all, ", ") + more
}

// ofData matches paths whose second part is the key of a map.
var ofData = regexp.MustCompile(`^(data|stringData|binaryData)\b`)

// beginning matches the first two parts of a path.
var beginning = regexp.MustCompile(`^[^.\[]+(\.[^.\[]+)?`)

// briefly returns the beginning of a path, which contains no key of a map.
func briefly(path string) string {
	if data := ofData.FindString(path); data != "" {
		return data
	}
	return beginning.FindString(path)
}

// maxWords is the maximum number of items that the sentence names.
const maxWords = 6

// Place returns a path without the indexes of list elements. It is the same for each element.
func Place(path string) string { return unnumbered(path) }

// unnumbered returns a path with a star instead of each index of a list element.
func unnumbered(path string) string { return number.ReplaceAllString(path, "[*]") }

// uncounted is unnumbered that also replaces each map key that is a number with a star. Such a map numbers its
// elements like a list.
func uncounted(path string) string { return counted.ReplaceAllString(unnumbered(path), ".*$1") }

// unnamed returns a path with a star instead of each name of a list element.
func unnamed(path string) string { return element.ReplaceAllString(path, "[*]") }
