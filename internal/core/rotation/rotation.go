package rotation

import (
	"errors"
	"fmt"
	"time"
)

// Times are how long things last.
type Times struct {
	// CA and Leaf are lifetimes. Both are renewed after two thirds.
	CA, Leaf time.Duration
	// Settle is how long a CA is in all bundles before it signs.
	Settle time.Duration
	// Skew is by how much clocks may differ: certificates are valid from so much earlier.
	Skew time.Duration
}

// DefaultTimes let months pass without a running operator, and a leaf that leaked be of use for three.
var DefaultTimes = Times{CA: 365 * day, Leaf: 90 * day, Settle: 5 * time.Minute, Skew: time.Hour}

const day = 24 * time.Hour

// Validate refuses times with which a leaf would be without a CA.
func (t Times) Validate() error {
	switch {
	case t.Leaf <= 0 || t.CA <= 0 || t.Settle < 0 || t.Skew < 0:
		return errors.New("lifetimes of certificates: want times above zero")
	case t.CA < 3*t.Leaf:
		return fmt.Errorf("a CA that lives for %s cannot sign leaves for %s: it needs three times as long", t.CA, t.Leaf)
	case t.Settle > t.Leaf/4:
		return fmt.Errorf("a new CA settles for %s, too long for leaves that live for %s: want at most a quarter", t.Settle, t.Leaf)
	}
	return nil
}

// Certificate is what matters of one.
type Certificate struct {
	// ID tells certificates apart. By is the ID of the CA that signed it, its own for a CA.
	ID, By string
	// Issued is when it was made: its validity began Skew earlier.
	Issued, Expires time.Time
}

// State is what is kept, by all replicas together.
type State struct {
	// Wrong says why nothing of what is kept is of use. The rest is empty then.
	Wrong string
	// Signing is the CA that signs, and Next the one that will, nil for none.
	Signing Certificate
	Next    *Certificate
	// Published is since when all bundles have Next, zero where they have not.
	Published time.Time
	// Former are CAs that signed once and are still trusted.
	Former []Certificate
	Leaf   Certificate
}

// Action is what to do.
type Action string

// The actions, as told in the comment of the package.
const (
	Nothing   Action = "nothing"
	Make      Action = "make"
	Introduce Action = "introduce"
	Publish   Action = "publish"
	Promote   Action = "promote"
	Renew     Action = "renew"
	Drop      Action = "drop"
)

// Decision is what to do, why, and if there is nothing to do, when that changes.
type Decision struct {
	Do    Action
	Why   string
	Again time.Time
}

// rule is one reason to do something.
type rule struct {
	do    Action
	holds func(situation) (why string)
}

// rules are asked in order: first what fails now, then what would fail soon, then what is to be tidied
// up.
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

// situation is what a decision is about.
type situation struct {
	times Times
	State
	carried func(id string) bool
	now     time.Time
}

// Decide says what to do now. Carried reports whether all bundles have a CA.
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

// tooLate: to wait for bundles any longer would help nobody.
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
		return "" // one that ends with its CA is followed by the next CA's
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

// again is the first of the times at which a rule may hold.
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

// Expiry is when a leaf ends that a CA signs at a time: not after its CA.
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

// due is two thirds through a certificate's life.
func due(c Certificate) time.Time { return c.Issued.Add(c.Expires.Sub(c.Issued) / 3 * 2) }
