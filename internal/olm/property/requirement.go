package property

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Requirement is a dependency of a bundle: another bundle has to meet it.
type Requirement struct {
	// Key is equal for equal requirements.
	Key string
	// Message is the explanation that the author of the bundle gives, or empty.
	Message string
	Condition
	// Parts are set for a constraint of the kind all. If no bundle meets all of it, each part needs a bundle of its own.
	Parts []*Requirement
}

// Condition is a test of a single bundle.
type Condition struct {
	// Text names the bundles that meet the condition.
	Text string
	// several means that Text has several alternatives.
	several bool
	Meets   func(*Content) (bool, error)
	// Lookups find the bundles that may meet the condition.
	Lookups []Lookup
	// Within is set for the condition on the version of a package.
	Within *Versions
}

// Lookup is a set of packages of a catalog: a package by name, or a query.
type Lookup struct {
	Package string
	Query
}

// width orders lookups by how many packages they find, roughly.
func (l Lookup) width() int {
	switch {
	case l.Package != "":
		return 0
	case l.Provides != schema.GroupVersionKind{}:
		return 1
	case l.Property != "":
		return 2
	}
	return 3
}

// width returns the width of the widest lookup.
func (c Condition) width() int {
	widest := 0
	for _, one := range c.Lookups {
		widest = max(widest, one.width())
	}
	return widest
}

// readRequirement reads a property that is a dependency.
func readRequirement(one Property, rules *Rules) (*Requirement, error) {
	switch one.Type {
	case requiredKindProperty:
		var value kindValue
		if err := decode(one.Value, &value); err != nil {
			return nil, err
		}
		return asRequirement(value.condition())
	case requiredPackageProperty:
		var value packageValue
		if err := decode(one.Value, &value); err != nil {
			return nil, err
		}
		return asRequirement(value.condition())
	case requiredLabelProperty:
		var value labelValue
		if err := decode(one.Value, &value); err != nil {
			return nil, err
		}
		return asRequirement(value.condition())
	}
	return readConstraint(one.Value, rules)
}

func asRequirement(c Condition, err error) (*Requirement, error) {
	if err != nil {
		return nil, err
	}
	return &Requirement{Key: c.Text, Condition: c}, nil
}

func (v kindValue) condition() (Condition, error) {
	kind, err := v.check()
	if err != nil {
		return Condition{}, err
	}
	return Condition{
		Text:    "an operator that provides " + KindText(kind),
		Meets:   func(c *Content) (bool, error) { return slices.Contains(c.Provides, kind), nil },
		Lookups: []Lookup{{Query: Query{Provides: kind}}},
	}, nil
}

// KindText returns a kind as in Ledger (db.example.com/v1).
func KindText(kind schema.GroupVersionKind) string {
	return fmt.Sprintf("%s (%s/%s)", kind.Kind, kind.Group, kind.Version)
}

func (v labelValue) condition() (Condition, error) {
	if v.Label == "" {
		return Condition{}, fmt.Errorf("want label")
	}
	return Condition{
		Text:    "an operator with label " + v.Label,
		Meets:   func(c *Content) (bool, error) { return slices.Contains(c.Labels, v.Label), nil },
		Lookups: []Lookup{{Query: Query{Property: labelProperty}}},
	}, nil
}

// packageValue is the value of the property olm.package.required, and of the field package of a constraint. Published documentation of
// constraints calls the name "name".
type packageValue struct {
	PackageName  string `json:"packageName"`
	Name         string `json:"name"`
	VersionRange string `json:"versionRange"`
	Version      string `json:"version"` // in metadata/dependencies.yaml
}

func (v packageValue) condition() (Condition, error) {
	name, text := cmp.Or(v.PackageName, v.Name), cmp.Or(v.VersionRange, v.Version)
	if name == "" || text == "" {
		return Condition{}, fmt.Errorf("want packageName and versionRange")
	}
	within, err := semver.ParseRange(text)
	if err != nil {
		return Condition{}, fmt.Errorf("%q is not a range of versions", text)
	}
	return Condition{
		Text: fmt.Sprintf("package %s %s", name, text),
		Meets: func(c *Content) (bool, error) {
			return c.Package == name && c.Version != nil && within(*c.Version), nil
		},
		Lookups: []Lookup{{Package: name}},
		Within:  &Versions{Package: name, Text: text},
	}, nil
}

// Versions is a range of versions of a package.
type Versions struct{ Package, Text string }

var versionInRange = regexp.MustCompile(`\d+(?:\.[0-9xX]+)*(?:-[0-9A-Za-z.-]+)?`)

// Bounds returns the lowest and the highest version that the range mentions.
func (v Versions) Bounds() (low, high semver.Version, ok bool) {
	for _, text := range versionInRange.FindAllString(v.Text, -1) {
		one, err := semver.ParseTolerant(strings.NewReplacer(".x", ".0", ".X", ".0").Replace(text))
		if err != nil {
			continue
		}
		if !ok || one.LT(low) {
			low = one
		}
		if !ok || one.GT(high) {
			high = one
		}
		ok = true
	}
	return low, high, ok
}
