package check

import (
	"slices"

	"github.com/operon-framework/operon/internal/olm/property"
)

// findNeeds adds to each bundle the dependencies that no other bundle offers.
func (c *checker) findNeeds() {
	for _, one := range c.entries {
		if one.content == nil || c.ctx.Err() != nil {
			continue
		}
		for _, requirement := range one.content.Requires {
			c.addNeeds(one, requirement)
		}
	}
}

// addNeeds adds a dependency that is not met. The parts of one can be met by several bundles.
func (c *checker) addNeeds(one *entry, requirement *property.Requirement) {
	if c.offered(one, requirement) {
		return
	}
	for _, part := range requirement.Parts {
		c.addNeeds(one, part)
	}
	if needs := &c.report.Bundles[one.result].Needs; len(requirement.Parts) == 0 && !slices.Contains(*needs, requirement.Text) {
		*needs = append(*needs, requirement.Text)
	}
}

// offered reports whether another bundle meets a dependency. A rule that fails for a bundle is not met by it.
func (c *checker) offered(by *entry, requirement *property.Requirement) bool {
	return slices.ContainsFunc(c.entries, func(other *entry) bool {
		if other == by || other.content == nil {
			return false
		}
		met, err := requirement.Meets(other.content)
		return err == nil && met
	})
}
