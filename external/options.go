package external

import (
	"cmp"
	"fmt"
	"time"
)

// Settings configure how resources of a kind are managed.
type Settings struct {
	// System names the external system. Calls to one system share a rate limit and a backoff. Empty: the name of the kind.
	// Revision is the revision of the credentials: a backoff ends when it changes.
	System, Revision string
	// Poll is how often a resource that is up to date is observed again. 0: never.
	Poll time.Duration
	// Limit is the timeout of a call.
	Limit time.Duration
	// Burst is how many calls may be made at once. After that, one call is allowed per interval of Every.
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

// KindOption changes how resources of a kind are managed.
type KindOption func(*Settings)

// System names the external system, such as a host, and the revision of the credentials for it, such as the
// resource version of their Secret. Calls to one system share a rate limit and a backoff. When the revision
// changes, the system is called immediately. Default: the kind.
func System(name, revision string) KindOption {
	return func(s *Settings) { s.System, s.Revision = name, revision }
}

// Poll sets how often a resource that is up to date is observed again, to find drift. Up to a tenth is added at
// random, so that not all resources are observed at the same time. Default: one minute. 0: never.
func Poll(every time.Duration) KindOption { return func(s *Settings) { s.Poll = every } }

// Limit sets the timeout of each call. It also determines when a creation that another process began is considered
// over, after a crash for example: after three times as long. Default: 20 s.
func Limit(d time.Duration) KindOption { return func(s *Settings) { s.Limit = d } }

// Rate limits the calls to the system: burst at once, and then one per interval. Default: 20, and then ten per
// second.
func Rate(burst int, every time.Duration) KindOption {
	return func(s *Settings) { s.Burst, s.Every = burst, every }
}

// SettingsOf returns the settings for a kind according to options, or an error if they are not valid.
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

// Wish is an author's declaration about one resource besides its desired state.
type Wish struct {
	Policy Policy
	// ID is set for a resource that is only observed.
	ID string
}

// Option changes how one resource is managed.
type Option func(*Wish)

// Orphan leaves the resource behind when it is no longer declared or its owner is deleted.
func Orphan() Option { return func(w *Wish) { w.Policy.Orphan = true } }

// Replace allows the operator to delete and recreate the resource if a field has to change that cannot be changed.
// Without it, the object stalls with the reason ExternalImmutable.
func Replace() Option { return func(w *Wish) { w.Policy.Replace = true } }

// ObserveOnly observes a resource that the operator does not manage, by its ID. It is never created, changed or
// deleted.
func ObserveOnly(id string) Option {
	return func(w *Wish) { w.Policy.Observe, w.ID = true, id }
}
