package requestlog

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Rhythm is what an operator that never becomes silent repeats, such as a read each second or a status that holds a time.
// Once nothing else happens, its work is done.
type Rhythm []Beat

// Beat is a request that is repeated, for whatever object.
type Beat struct {
	Verb        string `json:"verb"`
	Group       string `json:"group,omitempty"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
	// Every is the time between two of them for the same object, on average.
	Every time.Duration `json:"every"`
}

const (
	// beats is the number of requests for the same object after which they count as repeated.
	beats = 3
	// fastest is the maximum number of equal requests per second in a rhythm. More are a hot loop.
	fastest = 4
)

// LearnRhythm returns the rhythm of an operator from the requests that it sent in a window of time, in which the objects of
// the cluster changed to these resource versions. It returns nil if something happened that is not repeated, or if the
// requests repeat too fast or make the number of objects grow: that is not a rhythm but a hot loop or a leak. On a cluster that
// is slow, a hot loop is slower by the same factor.
func LearnRhythm(requests []Request, versions []string, since, until time.Time, slow float64) Rhythm {
	times, order := map[Request][]time.Time{}, []Request{}
	for i := range requests {
		r := &requests[i]
		if !r.Counts() || r.At.Before(since) || !r.At.Before(until) {
			continue
		}
		if r.grows() {
			return nil
		}
		of := Request{Verb: r.Verb, Group: r.Group, Resource: r.Resource, Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name}
		if times[of] == nil {
			order = append(order, of)
		}
		times[of] = append(times[of], r.At)
	}
	var all Rhythm
	for _, of := range order {
		at := times[of]
		if !repeats(at, since, until, slow) {
			return nil
		}
		all = all.And(Rhythm{{
			Verb: of.Verb, Group: of.Group, Resource: of.Resource, Subresource: of.Subresource,
			Every: at[len(at)-1].Sub(at[0]) / time.Duration(len(at)-1),
		}})
	}
	made := all.Made(requests)
	if slices.ContainsFunc(versions, func(version string) bool { return !made[version] }) {
		return nil
	}
	return all
}

// Counts reports whether a request shows that an operator is at work.
func (r *Request) Counts() bool {
	return r.Resource != "" && r.Verb != "watch" && !r.Streams() && !r.IsLease()
}

// grows reports whether a request changed the number of objects.
func (r *Request) grows() bool {
	return r.Effect == Changed && (r.Verb == "create" && r.Subresource == "" || r.Verb == "delete" || r.Verb == "deletecollection")
}

// repeats reports whether something happened again and again throughout a window of time, and not too fast.
func repeats(at []time.Time, since, until time.Time, slow float64) bool {
	window := until.Sub(since)
	return len(at) >= beats && float64(len(at)) <= fastest/slow*window.Seconds() &&
		at[0].Before(since.Add(window/2)) && at[len(at)-1].After(until.Add(-window/2))
}

// Period returns the longest time between two requests of the rhythm for the same object.
func (r Rhythm) Period() time.Duration {
	var longest time.Duration
	for _, b := range r {
		longest = max(longest, b.Every)
	}
	return longest
}

// Has reports whether a request belongs to the rhythm.
func (r Rhythm) Has(one *Request) bool {
	return slices.ContainsFunc(r, func(b Beat) bool {
		return b.Verb == one.Verb && b.Group == one.Group && b.Resource == one.Resource && b.Subresource == one.Subresource
	})
}

// And returns the beats of both rhythms.
func (r Rhythm) And(other Rhythm) Rhythm {
	all := slices.Clone(r)
	for _, b := range other {
		if !all.Has(&Request{Verb: b.Verb, Group: b.Group, Resource: b.Resource, Subresource: b.Subresource}) {
			all = append(all, b)
		}
	}
	return all
}

// Made returns the resource versions that requests of the rhythm made.
func (r Rhythm) Made(requests []Request) map[string]bool {
	made := map[string]bool{}
	for i := range requests {
		if one := &requests[i]; one.Effect == Changed && r.Has(one) {
			made[one.After] = true
		}
	}
	return made
}

// Last returns when the last request was received that counts and is not part of the rhythm, or the zero time. A request with
// a fault is never part of the rhythm: the operator has not yet done what it tried to do.
func (r Rhythm) Last(requests []Request) time.Time {
	for i := len(requests) - 1; i >= 0; i-- {
		if one := &requests[i]; one.Counts() && (!r.Has(one) || one.Fault != "") {
			return one.At
		}
	}
	return time.Time{}
}

// Reads reports whether the rhythm changes nothing: the operator polls.
func (r Rhythm) Reads() bool {
	return len(r) > 0 && !slices.ContainsFunc(r, func(b Beat) bool { return (&Request{Verb: b.Verb}).IsWrite() })
}

// String lists the beats for people: get pods every 1s, update boxes/status every 2s.
func (r Rhythm) String() string {
	var all []string
	for _, b := range r {
		target := &Request{Resource: b.Resource, Subresource: b.Subresource}
		all = append(all, fmt.Sprintf("%s %s every %s", b.Verb, target.Target(), b.Every.Round(100*time.Millisecond)))
	}
	return strings.Join(all, ", ")
}
