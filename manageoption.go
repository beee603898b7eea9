package operon

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/operon-framework/operon/internal/runtime/queue"
	"github.com/operon-framework/operon/internal/runtime/webhook"
)

// ManageOption changes how Manage manages one kind.
type ManageOption func(*manageSettings)

// manageSettings are what the options of a Manage add up to.
type manageSettings struct {
	concurrency int
	applySets   bool
	rate        queue.Rate
	timeout     time.Duration
	only        predicate.Predicate // which objects of the kind
	migrate     bool
	webhooks    webhook.Options
	rules       []webhook.Rule
	triggers    []<-chan types.NamespacedName
}

func (s *manageSettings) validate() error {
	if s.concurrency < 1 {
		return fmt.Errorf("Concurrency(%d): want 1 or more", s.concurrency)
	}
	if s.timeout < 0 {
		return fmt.Errorf("Timeout(%s): want a time, or 0 for none", s.timeout)
	}
	if s.rate.Burst < 1 || s.rate.Every <= 0 {
		return fmt.Errorf("RateLimit(%d, %s): want a burst of 1 or more, and a time", s.rate.Burst, s.rate.Every)
	}
	return nil
}

// Concurrency is how many objects of the kind are reconciled at the same time, 1 or more.
// Default: 8, as a reconcile waits for the API server most of its time. The same object is
// never reconciled twice at once.
func Concurrency(n int) ManageOption {
	return func(s *manageSettings) { s.concurrency = n }
}

// ApplySets makes every object of the kind the parent of an ApplySet that kubectl
// understands, also where no child needs a finalizer. It costs one write for each object.
func ApplySets() ManageOption {
	return func(s *manageSettings) { s.applySets = true }
}

// RateLimit bounds how often one object is reconciled: burst times at once, and then once
// every so often. A storm of changes so costs the operator little, and other objects nothing;
// the object's reconciles come later and none is lost, as each reads all that happened.
// Default: 60, then once a second, which convergence of large objects does not reach.
func RateLimit(burst int, every time.Duration) ManageOption {
	return func(s *manageSettings) { s.rate = queue.Rate{Burst: burst, Every: every} }
}

// Timeout ends the context of a reconcile that takes longer. It is told by the reason TimedOut
// and tried again, after 20 ms and then ever later, at most 30 s. Default: 0, which is no limit.
//
// Code that does not heed its context cannot be ended: it keeps one of the workers that
// Concurrency gives, and others go on. Observe has as long again, and also runs after a
// Compose that took too long.
func Timeout(d time.Duration) ManageOption {
	return func(s *manageSettings) { s.timeout = d }
}

// Trigger reconciles the object of each name that arrives on the channel, such as when a webhook of your program was called
// or a queue has a message. Objects that do not exist are ignored. The channel is read while this replica reconciles;
// whoever sends must not count on a buffer.
func Trigger(names <-chan types.NamespacedName) ManageOption {
	return func(s *manageSettings) { s.triggers = append(s.triggers, names) }
}

// MigrateStorage lets the operator rewrite the stored objects of the kind after its
// CustomResourceDefinition has begun to store another version, and then strike the older ones out of
// the definition's storedVersions (see package migrate). Only a leader does, at 100 objects a second.
//
// It needs to get the definition and to update its status, and to list and patch the kind in the
// whole cluster. What is missing is logged with the rule, and all else goes on.
func MigrateStorage() ManageOption {
	return func(s *manageSettings) { s.migrate = true }
}
