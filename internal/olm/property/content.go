package property

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// DeprecatedProperty is the type of the property of bundles that must not be chosen.
const DeprecatedProperty = "olm.deprecated"

// Types of properties that are interpreted.
const (
	packageProperty         = "olm.package"
	kindProperty            = "olm.gvk"
	labelProperty           = "olm.label"
	requiredKindProperty    = "olm.gvk.required"
	requiredPackageProperty = "olm.package.required"
	requiredLabelProperty   = "olm.label.required"
	constraintProperty      = "olm.constraint"
)

// Content is a bundle with its properties interpreted.
type Content struct {
	Package, Name string
	// Version is nil if the bundle has no valid one.
	Version  *semver.Version
	Provides []schema.GroupVersionKind
	Labels   []string
	// Requires are the dependencies, sorted by key and without duplicates.
	Requires []*Requirement
	// Deprecated means that the bundle must not be chosen.
	Deprecated bool
	versions   int // properties olm.package
	properties []Property
	decoded    []any // properties as rules see them, once they are needed
}

// Read interprets the properties of a bundle. The error has the problems of single properties; the content has the others.
func Read(pkg string, b Bundle, rules *Rules) (*Content, error) {
	c := &Content{Package: pkg, Name: b.Name, properties: b.Properties}
	var problems []string
	report := func(err error) {
		if err != nil {
			problems = append(problems, err.Error())
		}
	}
	if b.Version != "" {
		report(c.setVersion(b.Version))
	}
	for _, one := range b.Properties {
		if err := c.add(one, rules); err != nil {
			report(fmt.Errorf("property %s: %w", one.Type, err))
		}
	}
	if b.Version == "" && c.versions != 1 {
		report(fmt.Errorf("want 1 property %s, got %d", packageProperty, c.versions))
	}
	slices.SortFunc(c.Requires, func(a, b *Requirement) int { return cmp.Compare(a.Key, b.Key) })
	c.Requires = slices.CompactFunc(c.Requires, func(a, b *Requirement) bool { return a.Key == b.Key })
	if len(problems) == 0 {
		return c, nil
	}
	slices.Sort(problems)
	return c, errors.New(strings.Join(problems, "; "))
}

func (c *Content) setVersion(text string) error {
	version, err := semver.Parse(text)
	if err != nil {
		return fmt.Errorf("%q is not a semantic version", text)
	}
	c.Version = &version
	return nil
}

// kindValue is the value of the properties olm.gvk and olm.gvk.required.
type kindValue struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

func (v kindValue) check() (schema.GroupVersionKind, error) {
	if v.Group == "" || v.Version == "" || v.Kind == "" {
		return schema.GroupVersionKind{}, errors.New("want group, version and kind")
	}
	return schema.GroupVersionKind(v), nil
}

type labelValue struct {
	Label string `json:"label"`
}

func (c *Content) add(one Property, rules *Rules) error {
	switch one.Type {
	case packageProperty:
		return c.addVersion(one.Value)
	case kindProperty:
		var value kindValue
		if err := decode(one.Value, &value); err != nil {
			return err
		}
		kind, err := value.check()
		if err == nil {
			c.Provides = append(c.Provides, kind)
		}
		return err
	case labelProperty:
		var value labelValue
		if err := decode(one.Value, &value); err != nil {
			return err
		}
		c.Labels = append(c.Labels, value.Label)
	case DeprecatedProperty:
		c.Deprecated = true
	case requiredKindProperty, requiredPackageProperty, requiredLabelProperty, constraintProperty:
		r, err := readRequirement(one, rules)
		if err != nil {
			return err
		}
		c.Requires = append(c.Requires, r)
	}
	return nil
}

// addVersion reads the version in the property olm.package, unless the bundle has one of its own.
func (c *Content) addVersion(raw json.RawMessage) error {
	var value struct {
		PackageName string `json:"packageName"`
		Version     string `json:"version"`
	}
	if err := decode(raw, &value); err != nil {
		return err
	}
	c.versions++
	if value.PackageName != c.Package {
		return fmt.Errorf("packageName is %q, want %s", value.PackageName, c.Package)
	}
	if c.Version != nil {
		return nil
	}
	return c.setVersion(value.Version)
}

// VersionText returns the version, or "" if the bundle has none.
func (c *Content) VersionText() string {
	if c.Version == nil {
		return ""
	}
	return c.Version.String()
}

// values returns the properties as rules see them: objects with a type and a value.
func (c *Content) values() []any {
	if c.decoded != nil {
		return c.decoded
	}
	c.decoded = make([]any, 0, len(c.properties))
	for _, one := range c.properties {
		var value any
		if json.Unmarshal(one.Value, &value) != nil {
			continue
		}
		c.decoded = append(c.decoded, map[string]any{"type": one.Type, "value": value})
	}
	return c.decoded
}

// decode reads a JSON value. Fields that are not known are ignored: newer versions of the format may have them.
func decode(raw json.RawMessage, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("the value is invalid: %w", err)
	}
	return nil
}
