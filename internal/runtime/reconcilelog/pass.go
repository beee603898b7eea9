// Package reconcilelog records the triggers, actions and pending conditions of the last reconciles of each object, so
// that an operator can explain them.
//
// A Pass is the record of one reconcile: logs, metrics and traces are made of it, and a Store
// keeps the last ones in bounded memory. A Store is an http.Handler too, which answers with
// JSON; Client asks it.
package reconcilelog

import (
	"slices"
	"time"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/trigger"
)

// Pass is what is known of one reconcile of one object.
type Pass struct {
	Started time.Time     `json:"started"`
	Took    time.Duration `json:"took"` // nanoseconds
	trigger.Gathered

	// Generation of the object, 0 where it was gone.
	Generation int64    `json:"generation,omitempty"`
	Steps      []Step   `json:"steps"`
	Actions    []Action `json:"actions,omitempty"`
	// Writes is how many requests changed something: children, metadata, status.
	Writes int `json:"writes"`

	// Outcome is one of done, wait, retry and stalled, or Gone or Delayed.
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Error   string `json:"error,omitempty"`
	// Repeats is how many passes like this one, which wrote nothing either, it stands for besides.
	Repeats int `json:"repeats,omitempty"`
	// Back says when the object comes back by itself.
	Back *Back `json:"back,omitempty"`
}

// Step is one step of a pass.
type Step struct {
	Name    string        `json:"name"`
	Took    time.Duration `json:"took"` // nanoseconds
	Outcome string        `json:"outcome"`
}

// Action is something that was done to a child, or that has to wait.
type Action struct {
	Verb   string         `json:"verb"`
	Object trigger.Object `json:"object"`
	Why    string         `json:"why,omitempty"`
	Error  string         `json:"error,omitempty"`
}

// Back is when and for what an object is reconciled again though nothing happens.
type Back struct {
	// At is when. Zero: soon, and then ever later, as the queue decides after an error.
	At  time.Time     `json:"at,omitzero"`
	For trigger.Cause `json:"for"`
}

// Limits of a pass that a Store keeps.
const (
	maxText    = 1 << 10
	maxActions = 100
)

// bounded returns a pass without what would fill the memory: long texts and many actions.
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

// Outcomes of a pass besides those of package outcome.
const (
	// Gone: the object is not there any more.
	Gone = "gone"
	// Delayed: the object was reconciled too often, and has to wait for its turn.
	Delayed = "delayed"
)
