package rotation

import (
	"cmp"
	"fmt"
	"time"
)

// Times are the durations used by the rotation.
type Times struct {
	// CA and Leaf are lifetimes. Both are renewed after two thirds.
	CA, Leaf time.Duration
	// Settle is how long a CA has to be in all bundles before it signs.
	Settle time.Duration
	// Skew is the largest difference between clocks: certificates are valid from that much earlier.
	Skew time.Duration
}

// DefaultTimes tolerate months without a running operator, and limit the use of a leaked leaf to three months.
var DefaultTimes = Times{CA: 365 * day, Leaf: 90 * day, Settle: 5 * time.Minute, Skew: time.Hour}

const day = 24 * time.Hour

// WithDefaults sets each time that is zero to that of DefaultTimes, but Settle at most to what Leaf allows.
func (t Times) WithDefaults() Times {
	leaf := cmp.Or(t.Leaf, DefaultTimes.Leaf)
	return Times{
		CA: cmp.Or(t.CA, DefaultTimes.CA), Leaf: leaf,
		Settle: cmp.Or(t.Settle, min(DefaultTimes.Settle, leaf/4)), Skew: cmp.Or(t.Skew, DefaultTimes.Skew),
	}
}

// Validate rejects times with which a leaf would be without a CA.
func (t Times) Validate() error {
	for _, field := range []struct {
		name string
		time time.Duration
	}{{"CA", t.CA}, {"Leaf", t.Leaf}, {"Settle", t.Settle}, {"Skew", t.Skew}} {
		if field.time <= 0 {
			return fmt.Errorf("lifetimes of certificates: %s is %s: want a time above zero", field.name, field.time)
		}
	}
	switch {
	case t.CA < 3*t.Leaf:
		return fmt.Errorf("lifetimes of certificates: CA is %s: want at least three times Leaf, which is %s", t.CA, t.Leaf)
	case t.Settle > t.Leaf/4:
		return fmt.Errorf("lifetimes of certificates: Settle is %s: want at most a quarter of Leaf, which is %s", t.Settle, t.Leaf)
	}
	return nil
}

// Certificate holds the relevant data of a certificate.
type Certificate struct {
	// ID identifies the certificate. By is the ID of the CA that signed it, its own for a CA.
	ID, By string
	// Issued is when the certificate was created: its validity began Skew earlier.
	Issued, Expires time.Time
}

// State is the stored state, shared by all replicas.
type State struct {
	// Wrong is the reason why nothing of the stored state is usable. The other fields are empty then.
	Wrong string
	// Signing is the CA that signs, and Next the one that will sign. Each is nil if it does not exist.
	Signing Certificate
	Next    *Certificate
	// Published is the time since which all bundles have Next, or zero if they do not have it.
	Published time.Time
	// Former are CAs that signed in the past and are still trusted.
	Former []Certificate
	Leaf   Certificate
}

// Action is what to do.
type Action string

// The actions, as described in the package comment.
const (
	Nothing   Action = "nothing"
	Make      Action = "make"
	Introduce Action = "introduce"
	Publish   Action = "publish"
	Promote   Action = "promote"
	Renew     Action = "renew"
	Drop      Action = "drop"
)

// Decision contains the action, the reason and, if there is nothing to do, when that changes.
type Decision struct {
	Do    Action
	Why   string
	Again time.Time
}

// rule is one reason for an action.
type rule struct {
	do    Action
	holds func(situation) (why string)
}

// rules are evaluated in order: first what fails now, then what would fail soon, then cleanup.
var rules = []rule{
	{Make, unusable},
	{Promote, tooLate},
	{Make, expired},
	{Promote, settled},
	{Publish, carried},
	{Renew, leafIsDue},
	{Introduce, caIsDue},
	{Drop, formerIsOver},
}

// situation is the input of a decision.
type situation struct {
	times Times
	State
	carried func(id string) bool
	now     time.Time
}

// Decide returns what to do now. carried reports whether all bundles have a CA.
func Decide(times Times, state State, carried func(id string) bool, now time.Time) Decision {
	s := situation{times: times, State: state, carried: carried, now: now}
	for _, r := range rules {
		if why := r.holds(s); why != "" {
			return Decision{Do: r.do, Why: why}
		}
	}
	return Decision{Do: Nothing, Again: s.again()}
}

func unusable(s situation) string { return s.Wrong }

// tooLate: waiting for bundles any longer would not help.
func tooLate(s situation) string {
	if s.Next == nil || s.alive(s.Signing) || !s.alive(*s.Next) {
		return ""
	}
	return "the CA has expired and the next one is there"
}

func expired(s situation) string {
	if s.alive(s.Signing) {
		return ""
	}
	return "the CA has expired"
}

func settled(s situation) string {
	if s.Next == nil || s.Published.IsZero() || s.now.Before(s.settles()) || !s.carried(s.Next.ID) {
		return ""
	}
	return "the next CA has settled"
}

func carried(s situation) string {
	if s.Next == nil || !s.Published.IsZero() || !s.carried(s.Next.ID) {
		return ""
	}
	return "the next CA is in all bundles"
}

func leafIsDue(s situation) string {
	if s.now.Before(due(s.Leaf)) || !s.expiry(s.Signing).After(s.Leaf.Expires) {
		return "" // a leaf that expires with its CA is followed by one of the next CA
	}
	return "the leaf is to be renewed"
}

func caIsDue(s situation) string {
	if s.Next != nil || s.now.Before(due(s.Signing)) {
		return ""
	}
	return "the CA is to be renewed"
}

func formerIsOver(s situation) string {
	for _, former := range s.Former {
		if !s.now.Before(s.over(former)) {
			return "a former CA has expired"
		}
	}
	return ""
}

// again returns the first of the times at which a rule may hold.
func (s situation) again() time.Time {
	at := s.Signing.Expires
	sooner := func(t time.Time) {
		if t.After(s.now) && t.Before(at) {
			at = t
		}
	}
	sooner(due(s.Leaf))
	sooner(due(s.Signing))
	if s.Next != nil && !s.Published.IsZero() {
		sooner(s.settles())
	}
	for _, former := range s.Former {
		sooner(s.over(former))
	}
	return at
}

// Expiry returns when a leaf that a CA signs at a time expires: not after its CA.
func (t Times) Expiry(ca Certificate, at time.Time) time.Time {
	if expires := at.Add(t.Leaf); expires.Before(ca.Expires) {
		return expires
	}
	return ca.Expires
}

func (s situation) expiry(ca Certificate) time.Time   { return s.times.Expiry(ca, s.now) }
func (s situation) alive(c Certificate) bool          { return s.now.Before(c.Expires) }
func (s situation) settles() time.Time                { return s.Published.Add(s.times.Settle) }
func (s situation) over(former Certificate) time.Time { return former.Expires.Add(s.times.Skew) }

// due returns the time two thirds through a certificate's life.
func due(c Certificate) time.Time { return c.Issued.Add(c.Expires.Sub(c.Issued) / 3 * 2) }
