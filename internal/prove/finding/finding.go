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
	// SameState: faults have no lasting effect: the final state is the same as without them.
	SameState Property = "same-state"
	// SameFresh: a changed object leads to the same state as a new object with that content, and back.
	SameFresh Property = "same-fresh"
	// Restored: the operator reverts drift.
	Restored Property = "restored"
	// NothingLeft: deleting an object removes everything that was created for it.
	NothingLeft Property = "nothing-left"
	// NothingForeign: the operator neither changes nor deletes objects of other owners.
	NothingForeign Property = "nothing-foreign"
	// DataKept: data-bearing objects are deleted or recreated only if that also happens without faults.
	DataKept Property = "data-kept"
	// Silent: a quiescent operator writes nothing and reads little.
	Silent Property = "silent"
	// Truthful: the status describes the current generation, and Ready is true only if the children are ready.
	Truthful Property = "truthful"
	// Alive: the operator does not exit on its own and never panics.
	Alive Property = "alive"
	// Bounded: the number of objects and events does not keep growing.
	Bounded Property = "bounded"
	// Deletable: deletions finish; no finalizer stays.
	Deletable Property = "deletable"
	// Refusing: invalid values are rejected or reported, and do no harm.
	Refusing Property = "refusing"
	// Permitted: no permission is missing. Needed: no granted permission is unused.
	Permitted Property = "permitted"
	Needed    Property = "needed"
)

// Properties are all of them, in the order of the documentation.
func Properties() []Property {
	return []Property{
		SameState, SameFresh, Restored, NothingLeft, NothingForeign, DataKept, Silent, Truthful, Alive, Bounded, Deletable, Refusing, Permitted, Needed,
	}
}

// Level is how much a finding matters.
type Level string

// Levels. An empty one is Failure.
const (
	// Failure: users lose something. It decides the exit code.
	Failure Level = "failure"
	// Note: worth a look, such as a design that not all users expect.
	Note Level = "note"
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
	// Misoperation: a change of the spec is not executed, or not taken back.
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
	// Level is Failure if it is empty.
	Level Level `json:"level,omitempty"`
	// Accepted is the reason why the authors of the operator accept it; empty: they do not.
	Accepted string `json:"accepted,omitempty"`
	Class    Class  `json:"class"`
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
	// Flaky: it did not show twice. Seen is in how many of the Runs of its plan it did; 0 if it is not flaky, or if runs
	// without faults show it.
	Flaky bool `json:"flaky,omitempty"`
	Seen  int  `json:"seen,omitempty"`
	Runs  int  `json:"runs,omitempty"`
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

// Fails reports whether the finding is a failure that is not accepted.
func (f *Finding) Fails() bool { return f.Level != Note && f.Accepted == "" }

// Key is the same for findings that are one: the property, the kind of object and the message.
func (f *Finding) Key() string {
	kind := ""
	if f.Of != nil {
		kind = f.Of.Kind
	}
	return string(f.Property) + "|" + kind + "|" + f.Message
}
