// Package reconcilelog records the triggers, actions and pending conditions of the last reconciles of each object, so
// that an operator can explain them.
//
// A Pass is the record of one reconcile: logs, metrics and traces are made from it, and a Store
// holds the last ones in bounded memory. A Store is also an http.Handler, which returns
// JSON; Client queries it.
package reconcilelog

import (
	"slices"
	"time"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/trigger"
)

// Pass is the record of one reconcile of one object.
type Pass struct {
	Started time.Time     `json:"started"`
	Took    time.Duration `json:"took"` // nanoseconds
	trigger.Gathered

	// Generation is the generation of the object, or 0 if it was deleted.
	Generation int64    `json:"generation,omitempty"`
	Steps      []Step   `json:"steps"`
	Actions    []Action `json:"actions,omitempty"`
	// Writes is the number of requests that changed something: children, metadata, status.
	Writes int `json:"writes"`

	// Outcome is one of done, wait, retry and stalled, or Gone or Delayed.
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Error   string `json:"error,omitempty"`
	// Repeats is the number of further equal passes without writes that it stands for.
	Repeats int `json:"repeats,omitempty"`
	// Back says when the object is reconciled again without an event.
	Back *Back `json:"back,omitempty"`
}

// Step is one step of a pass.
type Step struct {
	Name    string        `json:"name"`
	Took    time.Duration `json:"took"` // nanoseconds
	Outcome string        `json:"outcome"`
}

// Action is an action on a child, executed or waiting.
type Action struct {
	Verb   string         `json:"verb"`
	Object trigger.Object `json:"object"`
	Why    string         `json:"why,omitempty"`
	Error  string         `json:"error,omitempty"`
}

// Back is when and why an object is reconciled again without an event.
type Back struct {
	// At is the time. Zero means soon, and then at growing intervals, as the queue decides after an error.
	At  time.Time     `json:"at,omitzero"`
	For trigger.Cause `json:"for"`
}

// Limits of a pass that a Store holds.
const (
	maxText    = 1 << 10
	maxActions = 100
)

// bounded returns a pass without data that would use too much memory: long texts and many actions.
func (p Pass) bounded() Pass {
	p.Message, p.Error = outcome.Cut(p.Message, maxText), outcome.Cut(p.Error, maxText)
	p.Actions = slices.Clone(p.Actions[:min(len(p.Actions), maxActions)])
	for i := range p.Actions {
		p.Actions[i].Why, p.Actions[i].Error = outcome.Cut(p.Actions[i].Why, maxText), outcome.Cut(p.Actions[i].Error, maxText)
	}
	if p.Back != nil {
		back := *p.Back
		back.For.Note = outcome.Cut(back.For.Note, maxText)
		p.Back = &back
	}
	return p
}

// Outcomes of a pass in addition to those of package outcome.
const (
	// Gone: the object no longer exists.
	Gone = "gone"
	// Delayed: the object was reconciled too often, and has to wait.
	Delayed = "delayed"
)
