package finding

import (
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/testplan"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// Property is what has to hold.
type Property string

// Properties. Their sentences are in docs/prove/properties.md.
const (
	// SameState: faults that are over leave nothing behind: the state is that of the run without.
	SameState Property = "same-state"
	// SameFresh: a changed object leads to what a new one of that content leads to, and back.
	SameFresh Property = "same-fresh"
	// Restored: what somebody else changed or deleted is put back.
	Restored Property = "restored"
	// NothingLeft: after its deletion nothing is left of an object.
	NothingLeft Property = "nothing-left"
	// NothingForeign: what belongs to others is neither changed nor deleted.
	NothingForeign Property = "nothing-foreign"
	// DataKept: no object that bears data is deleted or made again that was not without faults.
	DataKept Property = "data-kept"
	// Silent: who has nothing to do writes nothing, and reads little.
	Silent Property = "silent"
	// Truthful: the status is of this generation, and Ready only when the children are.
	Truthful Property = "truthful"
	// Alive: the operator does not end by itself, and panics never.
	Alive Property = "alive"
	// Bounded: objects and events do not become more and more.
	Bounded Property = "bounded"
	// Deletable: a deletion ends; no finalizer stays.
	Deletable Property = "deletable"
	// Refusing: what is invalid is refused, or reported, and nothing becomes worse by it.
	Refusing Property = "refusing"
	// Permitted: no permission is missing. Needed: none is granted and never used.
	Permitted Property = "permitted"
	Needed    Property = "needed"
)

// Class is a guess at the kind of mistake.
type Class string

// Classes. The first three are Sieve's.
const (
	// Intermediate: the operator was interrupted between two writes, and does not finish.
	Intermediate Class = "intermediate state"
	// Stale: the operator acted on the past.
	Stale Class = "stale state"
	// Unobserved: the operator missed a state in between and needed to see it.
	Unobserved Class = "unobserved state"
	// LostUpdate: a conflict was overwritten, or an error swallowed.
	LostUpdate Class = "lost update"
	// Leak: something is left, or becomes more and more.
	Leak Class = "leak"
	// HotLoop: the operator goes round.
	HotLoop Class = "hot loop"
	// Privilege: rights are missing, or too many.
	Privilege Class = "privilege"
	// Misoperation: a change of the spec is not carried out, or not taken back.
	Misoperation Class = "misoperation"
	// Crash: the operator ends or panics.
	Crash Class = "crash"
	// Lie: the status says what is not so.
	Lie Class = "false status"
	// Overlap: two instances at work at once.
	Overlap Class = "two instances"
)

// Finding is one property that does not hold in one run.
type Finding struct {
	Property Property `json:"property"`
	Class    Class    `json:"class"`
	// Step is the workload's, empty where it is not about one.
	Step string `json:"step,omitempty"`
	// Of is the object that it shows in, its namespace empty where that is the run's own.
	Of *workload.Ref `json:"of,omitempty"`
	// Message is one sentence, the same in each run that finds the same.
	Message string `json:"message"`
	// Diff is what was expected and what was found.
	Diff []Difference `json:"diff,omitempty"`
	// Last are the operator's requests that tell most: the ones before and after the fault.
	Last []requestlog.Request `json:"last,omitempty"`
	// Log is what the operator printed last, where that tells something.
	Log []string `json:"log,omitempty"`
	// Plan is what was done, shrunk where that was possible. What shows without any fault has a plan
	// without one, the runs that others are compared with.
	Plan *testplan.Plan `json:"plan,omitempty"`
	// Flaky: a second run did not show it.
	Flaky bool `json:"flaky,omitempty"`
	// File is the plan file that replays it, File empty where there is none.
	File string `json:"file,omitempty"`
	// Also is how many other plans showed the same.
	Also int `json:"also,omitempty"`
}

// Difference is a field, or a whole object, that is not as expected.
type Difference struct {
	// Path is the field: spec.replicas, data[key]. Empty for the whole object.
	Path string `json:"path,omitempty"`
	// Of is the object, as kind/name.
	Of string `json:"of"`
	// Want and Got are values as JSON, empty where there is none.
	Want string `json:"want,omitempty"`
	Got  string `json:"got,omitempty"`
}

// Key is the same for findings that are one: the property, the kind of object and the message.
func (f *Finding) Key() string {
	kind := ""
	if f.Of != nil {
		kind = f.Of.Kind
	}
	return string(f.Property) + "|" + kind + "|" + f.Message
}
