package external

import (
	"cmp"
	"fmt"
	"time"
)

// Settings are how a kind of resources is looked after.
type Settings struct {
	// System names what is reached, for people and to know what calls have in common: those to one
	// system share a rate and a backoff. Empty: the kind's name. Revision is that of the
	// credentials: with another one, a backoff ends.
	System, Revision string
	// Poll is how often what is as it should be is looked at again, 0 for never.
	Poll time.Duration
	// Limit bounds a call.
	Limit time.Duration
	// Burst is how many calls may be made at once, and then one Every.
	Burst int
	Every time.Duration
}

// Defaults of Settings.
const (
	DefaultPoll  = time.Minute
	DefaultLimit = 20 * time.Second
	DefaultBurst = 20
	DefaultEvery = 100 * time.Millisecond
)

// KindOption changes how a kind of resources is looked after.
type KindOption func(*Settings)

// System names the external system, such as a host, and the revision of the credentials that it is
// reached with, such as the resource version of the Secret that they are in. Calls to one system
// share a rate and a backoff; with another revision it is called at once. Default: the kind.
func System(name, revision string) KindOption {
	return func(s *Settings) { s.System, s.Revision = name, revision }
}

// Poll is how often a resource that is as it should be is looked at again, to find what others changed;
// a tenth more at random, so that not all are looked at together. Default: a minute. 0: never.
func Poll(every time.Duration) KindOption { return func(s *Settings) { s.Poll = every } }

// Limit bounds each call. It is also what the answer to a crash is made of: a creation that another
// process began is taken to be over after three times as long. Default: 20 s.
func Limit(d time.Duration) KindOption { return func(s *Settings) { s.Limit = d } }

// Rate bounds the calls to the system: burst at once, and then one every so often. Default: 20, and
// then ten a second.
func Rate(burst int, every time.Duration) KindOption {
	return func(s *Settings) { s.Burst, s.Every = burst, every }
}

// SettingsOf is what options say of a kind, and what is wrong with it.
func SettingsOf(kind string, options ...KindOption) (Settings, error) {
	s := Settings{Poll: DefaultPoll, Limit: DefaultLimit, Burst: DefaultBurst, Every: DefaultEvery}
	for _, option := range options {
		option(&s)
	}
	s.System = cmp.Or(s.System, kind)
	switch {
	case s.Limit <= 0:
		return s, fmt.Errorf("external kind %q: Limit(%s): want a time", kind, s.Limit)
	case s.Poll < 0:
		return s, fmt.Errorf("external kind %q: Poll(%s): want a time, or 0 for never", kind, s.Poll)
	case s.Burst < 1 || s.Every <= 0:
		return s, fmt.Errorf("external kind %q: Rate(%d, %s): want a burst of 1 or more, and a time", kind, s.Burst, s.Every)
	}
	return s, Ref{Kind: kind, Name: "x"}.Check()
}

// Wish is what an author says of one resource besides what is desired of it.
type Wish struct {
	Policy Policy
	// ID is that of a resource that is only observed.
	ID string
}

// Option says more of one resource.
type Option func(*Wish)

// Orphan leaves the resource behind when it is no longer declared, or its owner deleted.
func Orphan() Option { return func(w *Wish) { w.Policy.Orphan = true } }

// Replace lets the resource be deleted and made again where something is to change that cannot be
// changed. Without it, the object stalls with the reason ExternalImmutable.
func Replace() Option { return func(w *Wish) { w.Policy.Replace = true } }

// ObserveOnly looks at a resource that somebody else looks after, by its id. It is never made, changed
// or deleted.
func ObserveOnly(id string) Option {
	return func(w *Wish) { w.Policy.Observe, w.ID = true, id }
}
