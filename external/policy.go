package external

import (
	"fmt"
	"strings"
)

// PolicyAnnotation on an object sets the policy for all of its external resources: PolicyObserve or PolicyOrphan.
// Users set it.
const PolicyAnnotation = "operon.dev/external-policy"

// The values of PolicyAnnotation.
const (
	// PolicyObserve: no resource is created, changed or deleted. Recorded resources are observed.
	PolicyObserve = "observe"
	// PolicyOrphan: resources that are no longer declared are left behind.
	PolicyOrphan = "orphan"
)

// Policy restricts or extends the permitted operations on a resource.
type Policy struct {
	// Observe: the resource is only observed.
	Observe bool
	// Orphan: the resource is not deleted, but left behind.
	Orphan bool
	// Replace: the resource is deleted and recreated if a field has to change that cannot be changed.
	Replace bool
}

// PolicyOf parses the value of PolicyAnnotation.
func PolicyOf(annotation string) (Policy, error) {
	switch annotation {
	case "":
		return Policy{}, nil
	case PolicyObserve:
		return Policy{Observe: true, Orphan: true}, nil
	case PolicyOrphan:
		return Policy{Orphan: true}, nil
	}
	return Policy{}, fmt.Errorf("the annotation %s is %q: want %s or %s", PolicyAnnotation, annotation, PolicyObserve, PolicyOrphan)
}

// With returns the policy extended by another one.
func (p Policy) With(q Policy) Policy {
	return Policy{Observe: p.Observe || q.Observe, Orphan: p.Orphan || q.Orphan, Replace: p.Replace || q.Replace}
}

// ResolvedAnnotation is where a person states the results of creations that the operator cannot determine:
// machine/web-0=vm-12,machine/web-1=none. It is removed once it has been applied.
const ResolvedAnnotation = "operon.dev/external-resolved"

// None in ResolvedAnnotation states that no resource was created.
const None = "none"

// ParseResolved parses the value of ResolvedAnnotation, by resource.
func ParseResolved(text string) (map[Ref]string, error) {
	said := map[Ref]string{}
	if strings.TrimSpace(text) == "" {
		return said, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		left, id, ok := strings.Cut(strings.TrimSpace(part), "=")
		ref, err := ParseRef(left)
		if !ok || err != nil || id == "" || len(id) > maxID {
			return nil, fmt.Errorf("the annotation %s has %q: want KIND/NAME=ID, or KIND/NAME=%s if nothing was created, separated by commas", ResolvedAnnotation, part, None)
		}
		if _, twice := said[ref]; twice {
			return nil, fmt.Errorf("the annotation %s names %s twice", ResolvedAnnotation, ref)
		}
		said[ref] = id
	}
	return said, nil
}
