package property

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Limits on constraints, which are untrusted. The Operator Lifecycle Manager limits the size to the same.
const (
	maxConstraint = 64 << 10
	maxDepth      = 16
)

// constraint is the value of the property olm.constraint. Exactly one of the fields after FailureMessage is set.
type constraint struct {
	FailureMessage string        `json:"failureMessage"`
	Package        *packageValue `json:"package"`
	GVK            *kindValue    `json:"gvk"`
	CEL            *ruleValue    `json:"cel"`
	All            *compound     `json:"all"`
	Any            *compound     `json:"any"`
	Not            *compound     `json:"not"`
}

type ruleValue struct {
	Rule string `json:"rule"`
}

type compound struct {
	Constraints []constraint `json:"constraints"`
}

// readConstraint reads a constraint. As in the Operator Lifecycle Manager, it is a condition on a single bundle.
func readConstraint(raw json.RawMessage, rules *Rules) (*Requirement, error) {
	if len(raw) > maxConstraint {
		return nil, fmt.Errorf("the constraint has more than %d KiB", maxConstraint>>10)
	}
	var value constraint
	if err := decode(raw, &value); err != nil {
		return nil, err
	}
	is, err := value.condition(rules, 0)
	if err != nil {
		return nil, err
	}
	r := &Requirement{Key: canonical(raw), Message: value.FailureMessage, Condition: is}
	if value.All == nil {
		return r, nil
	}
	r.Parts, err = value.All.parts(rules, r.Key)
	return r, err
}

// canonical returns JSON without insignificant space.
func canonical(raw json.RawMessage) string {
	var text bytes.Buffer
	if json.Compact(&text, raw) != nil {
		return string(raw)
	}
	return text.String()
}

// parts divides the constraint all: each constraint that selects bundles becomes a requirement, with the constraints of the kind not added.
func (c *compound) parts(rules *Rules, key string) ([]*Requirement, error) {
	var never []constraint
	var selecting []constraint
	for _, one := range c.Constraints {
		if one.Not != nil {
			never = append(never, one)
		} else {
			selecting = append(selecting, one)
		}
	}
	if len(selecting) < 2 {
		return nil, nil
	}
	var parts []*Requirement
	for i, one := range selecting {
		group := compound{append([]constraint{one}, never...)}
		is, err := group.every(rules, 1)
		if err != nil {
			return nil, err
		}
		parts = append(parts, &Requirement{Key: fmt.Sprintf("%s#%d", key, i), Message: one.FailureMessage, Condition: is})
	}
	return parts, nil
}

func (c *constraint) condition(rules *Rules, depth int) (Condition, error) {
	if depth > maxDepth {
		return Condition{}, fmt.Errorf("constraints are nested more than %d deep", maxDepth)
	}
	set := 0
	for _, one := range []bool{c.Package != nil, c.GVK != nil, c.CEL != nil, c.All != nil, c.Any != nil, c.Not != nil} {
		if one {
			set++
		}
	}
	if set != 1 {
		return Condition{}, fmt.Errorf("want exactly one of all, any, cel, gvk, not, package, got %d", set)
	}
	switch {
	case c.Package != nil:
		is, err := c.Package.condition()
		return is, inField("package", err)
	case c.GVK != nil:
		is, err := c.GVK.condition()
		return is, inField("gvk", err)
	case c.CEL != nil:
		is, err := rules.condition(c.CEL.Rule, c.FailureMessage)
		return is, inField("cel.rule", err)
	case c.All != nil:
		is, err := c.All.every(rules, depth+1)
		return is, inField("all", err)
	case c.Any != nil:
		is, err := c.Any.some(rules, depth+1)
		return is, inField("any", err)
	}
	is, err := c.Not.none(rules, depth+1)
	return is, inField("not", err)
}

// inField adds the place in a constraint to an error.
func inField(place string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", place, err)
}

func (c *compound) conditions(rules *Rules, depth int) ([]Condition, []string, error) {
	if len(c.Constraints) == 0 {
		return nil, nil, errors.New("want constraints, a list")
	}
	var all []Condition
	var texts []string
	for i := range c.Constraints {
		is, err := c.Constraints[i].condition(rules, depth)
		if err != nil {
			return nil, nil, fmt.Errorf("constraints[%d]: %w", i, err)
		}
		all = append(all, is)
		if is.several {
			is.Text = "(" + is.Text + ")"
		}
		texts = append(texts, is.Text)
	}
	return all, texts, nil
}

// every is the condition that all constraints hold for a bundle.
func (c *compound) every(rules *Rules, depth int) (Condition, error) {
	all, texts, err := c.conditions(rules, depth)
	if err != nil {
		return Condition{}, err
	}
	narrowest := all[0]
	for _, one := range all {
		if one.width() < narrowest.width() {
			narrowest = one
		}
	}
	return Condition{Text: strings.Join(texts, " and "), Lookups: narrowest.Lookups, Meets: func(b *Content) (bool, error) {
		for _, one := range all {
			if ok, err := one.Meets(b); !ok || err != nil {
				return false, err
			}
		}
		return true, nil
	}}, nil
}

// some is the condition that at least one constraint holds for a bundle.
func (c *compound) some(rules *Rules, depth int) (Condition, error) {
	all, texts, err := c.conditions(rules, depth)
	if err != nil {
		return Condition{}, err
	}
	is := Condition{Text: strings.Join(texts, " or "), several: len(all) > 1, Meets: func(b *Content) (bool, error) { return anyMeets(all, b) }}
	for _, one := range all {
		is.Lookups = append(is.Lookups, one.Lookups...)
	}
	return is, nil
}

// none is the condition that no constraint holds for a bundle.
func (c *compound) none(rules *Rules, depth int) (Condition, error) {
	all, texts, err := c.conditions(rules, depth)
	if err != nil {
		return Condition{}, err
	}
	return Condition{Text: "not " + strings.Join(texts, " and not "), Lookups: []Lookup{{}}, Meets: func(b *Content) (bool, error) {
		ok, err := anyMeets(all, b)
		return !ok && err == nil, err
	}}, nil
}

func anyMeets(all []Condition, b *Content) (bool, error) {
	for _, one := range all {
		if ok, err := one.Meets(b); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}
