package finding

import (
	"slices"

	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/testplan"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// Property is an invariant of an operator that has to hold.
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
	// Deletable: deletions finish; no finalizer remains.
	Deletable Property = "deletable"
	// Refusing: invalid values are rejected or reported, and do no harm.
	Refusing Property = "refusing"
	// Permitted: no permission is missing. Needed: no granted permission is unused.
	Permitted Property = "permitted"
	Needed    Property = "needed"
)

// Properties lists all properties, in the order of the documentation.
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
	// Note: worth checking, such as a design that not all users expect.
	Note Level = "note"
)

// Class is a guess at the kind of bug.
type Class string

// Classes. The first three are Sieve's.
const (
	// Intermediate: the operator was interrupted between two writes, and does not finish.
	Intermediate Class = "intermediate state"
	// Stale: the operator acted on a stale state.
	Stale Class = "stale state"
	// Unobserved: the operator missed an intermediate state that it needed to see.
	Unobserved Class = "unobserved state"
	// LostUpdate: a conflict was overwritten, or an error swallowed.
	LostUpdate Class = "lost update"
	// Leak: something remains, or keeps growing in number.
	Leak Class = "leak"
	// HotLoop: the operator reconciles without end.
	HotLoop Class = "hot loop"
	// Privilege: permissions are missing, or there are too many.
	Privilege Class = "privilege"
	// Misoperation: a change of the spec is not executed, or not reverted.
	Misoperation Class = "misoperation"
	// Crash: the operator ends or panics.
	Crash Class = "crash"
	// Lie: the status reports something that is not true.
	Lie Class = "false status"
	// Overlap: two instances are active at the same time.
	Overlap Class = "two instances"
)

// Finding is one property that does not hold in one run.
type Finding struct {
	Property Property `json:"property"`
	// Level is Failure if it is empty.
	Level Level `json:"level,omitempty"`
	// Accepted is the reason why the authors of the operator accept the finding; empty: they do not.
	Accepted string `json:"accepted,omitempty"`
	Class    Class  `json:"class"`
	// Step is the step of the workload, or empty if the finding is not about a step.
	Step string `json:"step,omitempty"`
	// Of is the object of the finding. Its namespace is empty if it is the run's own.
	Of *workload.Ref `json:"of,omitempty"`
	// Message is one sentence, the same in each run with the same finding.
	Message string `json:"message"`
	// Because is the reason why the finding is only a note although others with the same message are failures.
	Because string `json:"because,omitempty"`
	// Declined is set if the operator visibly declines the change in a run with faults, to the reason. The finding is only a note if the operator
	// declines it without faults, too.
	Declined string `json:"-"`
	// Diff is the expected and the actual state.
	Diff []Difference `json:"diff,omitempty"`
	// Last are the most relevant requests of the operator: the ones before and after the fault.
	Last []requestlog.Request `json:"last,omitempty"`
	// Log is the last output of the operator, if it is relevant.
	Log []string `json:"log,omitempty"`
	// Plan is the executed plan, shrunk if possible. A finding that occurs without any fault has a plan
	// without one: the runs that others are compared with.
	Plan *testplan.Plan `json:"plan,omitempty"`
	// Flaky: the finding did not occur twice. Seen is the number of the Runs of its plan with the finding; it is 0 if the
	// finding is not flaky, or if runs without faults show it.
	Flaky bool `json:"flaky,omitempty"`
	Seen  int  `json:"seen,omitempty"`
	Runs  int  `json:"runs,omitempty"`
	// File is the plan file that replays the finding. It is empty if there is none.
	File string `json:"file,omitempty"`
	// Also is the number of other plans with the same finding.
	Also int `json:"also,omitempty"`
}

// Difference is a field, or a whole object, that differs from the expected one.
type Difference struct {
	// Path is the field: spec.replicas, data[key]. Empty for the whole object.
	Path string `json:"path,omitempty"`
	// Of is the object, as kind/name.
	Of string `json:"of"`
	// Want and Got are values as JSON, or empty if there is no value.
	Want string `json:"want,omitempty"`
	Got  string `json:"got,omitempty"`
}

// Fails reports whether the finding is a failure that is not accepted.
func (f *Finding) Fails() bool { return f.Level != Note && f.Accepted == "" }

// Text is the message, with the reason why it is only a note.
func (f *Finding) Text() string {
	if f.Because == "" {
		return f.Message
	}
	return f.Message + "; " + f.Because
}

// Key is the same for equivalent findings: the property, the kind of object and the text.
func (f *Finding) Key() string {
	kind := ""
	if f.Of != nil {
		kind = f.Of.Kind
	}
	return string(f.Property) + "|" + kind + "|" + f.Text()
}

// Excuses reports whether the finding, a note of a run without faults, also excuses a failure of a run with faults: it is about the same
// differences in the same step.
func (f *Finding) Excuses(failure *Finding) bool {
	said := *failure
	said.Because = f.Because
	return failure.Declined != "" && f.Because != "" && f.Step == failure.Step && f.Key() == said.Key() &&
		!slices.ContainsFunc(failure.Diff, func(d Difference) bool { return !f.differsIn(d) })
}

func (f *Finding) differsIn(d Difference) bool {
	return slices.ContainsFunc(f.Diff, func(other Difference) bool { return other.Of == d.Of && other.Path == d.Path })
}
