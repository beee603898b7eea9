package operontest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/condition"
	"github.com/operon-framework/operon/internal/runtime/reconcile"
)

// play executes a step and waits until the expectation is met, and nothing else happens for a while. The error describes what
// is missing, or what was not expected.
func (s *site[T]) play(ctx context.Context, step Step[T]) error {
	s.begin()
	for _, change := range step.Do {
		if err := change(ctx, s.place); err != nil {
			return err
		}
	}
	s.known = append(s.known, step.Expect.Events...)
	var last verdict
	var written []string
	still := time.Now()
	err := wait.PollUntilContextTimeout(ctx, timing.interval, s.patience+step.Wait, true, func(ctx context.Context) (bool, error) {
		if more := s.requests.writes.take(); len(more) > 0 {
			written, still = append(written, more...), time.Now()
		}
		if len(s.ended) > 0 {
			return false, errors.New("the operator has ended")
		}
		began := time.Now()
		found, err := s.judge(ctx, step.Expect, written)
		if err != nil && ctx.Err() == nil {
			found, err = verdict{missing: []string{err.Error()}}, nil // for now: a busy API server may reject a request
		}
		if err != nil {
			return false, err
		}
		last = found
		enough := max(timing.quiet, 20*time.Since(began)) // more where requests take long, because watches are late there
		return len(found.unexpected) > 0 || len(found.missing) == 0 && time.Since(still) > enough, nil
	})
	if wrong := last.all(); len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n"))
	}
	return err
}

// begin begins a step with the current state of the object.
func (s *site[T]) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states = s.states[max(0, len(s.states)-1):]
}

// judge returns the deviations from the expectation so far.
func (s *site[T]) judge(ctx context.Context, e Expect[T], written []string) (verdict, error) {
	events, err := s.events(ctx)
	gone, unknown := s.gone(ctx)
	if err := errors.Join(err, unknown); err != nil {
		return verdict{}, err
	}
	s.mu.Lock()
	states := slices.Clone(s.states)
	s.mu.Unlock()
	if gone {
		states = nil
		// A child that garbage collection deletes before the operator learns that its owner is gone is recreated, and deleted
		// again.
		written = slices.DeleteFunc(slices.Clone(written), func(write string) bool { return strings.HasPrefix(write, "create ") })
	}
	return compareSets("write", distinct(e.Writes), distinct(written), same).
		and(s.judgeEvents(e, events)).
		and(verdict{missing: e.judgeObject(states)}), nil
}

// judgeEvents searches all events for those of this step, because the API server adds a repeated event to the existing one.
func (s *site[T]) judgeEvents(e Expect[T], events []string) verdict {
	var v verdict
	for _, want := range e.Events {
		if !slices.ContainsFunc(events, func(got string) bool { return matchesEvent(want, got) }) {
			v.missing = append(v.missing, fmt.Sprintf("missing event %q", want))
		}
	}
	for _, got := range events {
		expected := slices.ContainsFunc(s.known, func(want string) bool { return matchesEvent(want, got) })
		if !expected && !ofReadiness(got) {
			v.unexpected = append(v.unexpected, fmt.Sprintf("event that was not expected: %q", got))
		}
	}
	return v
}

// distinct returns the writes without status writes and duplicates.
func distinct(writes []string) []string {
	all := sets.New(slices.DeleteFunc(slices.Clone(writes), func(write string) bool { return strings.HasPrefix(write, "status ") })...)
	return sets.List(all)
}

// ofReadiness reports whether an event depends on the readiness of children. On a real cluster, children become ready by
// themselves.
func ofReadiness(event string) bool {
	reason, _, _ := strings.Cut(event, ": ")
	switch reason {
	case condition.ReasonReady, reconcile.ReasonChildNotReady, reconcile.ReasonChildFailed,
		reconcile.ReasonWaiting, reconcile.ReasonChildDeleting, reconcile.ReasonDeleting:
		return true
	}
	return false
}

// events returns all events that the operator sent about the object.
func (s *site[T]) events(ctx context.Context) ([]string, error) {
	var list eventsv1.EventList
	if err := s.place.List(ctx, &list, client.InNamespace(s.place.Namespace)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var notes []string
	for _, e := range list.Items {
		if e.Regarding.UID == s.uid && e.ReportingController == Manager {
			notes = append(notes, e.Reason+": "+e.Note)
		}
	}
	return notes, nil
}

// furtherKinds returns the kinds that were read, except the kinds of the object and its children.
func (s *site[T]) furtherKinds(c Case[T]) (want, got []string) {
	known := sets.New[string]()
	if kind, err := s.place.GroupVersionKindFor(s.object); err == nil {
		known.Insert(kind.Kind)
	}
	for _, step := range c.steps() {
		for _, write := range step.Expect.Writes {
			known.Insert(strings.Fields(write)[1])
		}
	}
	wanted := sets.New[string]()
	for _, read := range c.Reads {
		wanted.Insert(strings.Fields(read)[0])
	}
	return sets.List(wanted.Difference(known)), sets.List(s.requests.kinds().Difference(known))
}
