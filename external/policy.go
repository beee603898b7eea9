package external

import (
	"fmt"
	"strings"
)

// PolicyAnnotation lets a user say of one object what becomes of all that is kept outside for it:
// [PolicyObserve] or [PolicyOrphan].
const PolicyAnnotation = "operon.dev/external-policy"

// The values of PolicyAnnotation.
const (
	// PolicyObserve: nothing is made, changed or deleted outside. What is recorded is looked at.
	PolicyObserve = "observe"
	// PolicyOrphan: what is no longer wanted is left behind.
	PolicyOrphan = "orphan"
)

// Policy is what may be done to a resource.
type Policy struct {
	// Observe: nothing.
	Observe bool
	// Orphan: it is not deleted, but left behind.
	Orphan bool
	// Replace: where what cannot be changed has to, it is deleted and made again.
	Replace bool
}

// PolicyOf reads what a user says of an object.
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

// With adds what another policy says.
func (p Policy) With(q Policy) Policy {
	return Policy{Observe: p.Observe || q.Observe, Orphan: p.Orphan || q.Orphan, Replace: p.Replace || q.Replace}
}

// ResolvedAnnotation is where a person says how creations ended of which the operator cannot know:
// machine/web-0=vm-12,machine/web-1=none. It is removed when it was taken up.
const ResolvedAnnotation = "operon.dev/external-resolved"

// None in ResolvedAnnotation says that nothing was made.
const None = "none"

// ParseResolved reads what a person says, by resource.
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
