package external

import (
	"fmt"
	"strings"
)

// Verb is the next operation for a resource.
type Verb string

// The verbs. Calls go to the external system, edits to the record. Call Next again after both. The other verbs end the work
// of a reconcile on the resource.
const (
	// Find searches for the resource with the key: a call.
	Find Verb = "find"
	// Look observes the resource: a call.
	Look Verb = "look"
	// Create, Update and Delete are calls.
	Create Verb = "create"
	Update Verb = "update"
	Delete Verb = "delete"

	// MarkIt records that this process is about to create the resource: an edit.
	MarkIt Verb = "mark"
	// Note records the ID: an edit.
	Note Verb = "note"
	// Drop removes the resource from the record: an edit.
	Drop Verb = "drop"
	// Keep records only the policy for when the resource is no longer declared: an edit.
	Keep Verb = "keep"

	// Done: the resource is up to date.
	Done Verb = "done"
	// Wait: observe the resource again soon.
	Wait Verb = "wait"
	// Stall: a person has to act.
	Stall Verb = "stall"
)

// Call reports whether the verb is a call.
func (v Verb) Call() bool {
	switch v {
	case Find, Look, Create, Update, Delete:
		return true
	}
	return false
}

// Edit reports whether the verb is an edit.
func (v Verb) Edit() bool {
	switch v {
	case MarkIt, Note, Drop, Keep:
		return true
	}
	return false
}

// Reasons of the Ready condition that end the work on a resource.
const (
	// ReasonNotReady: the resource is not ready yet, and needs no action.
	ReasonNotReady = "ExternalNotReady"
	// ReasonDeleting: the resource is being deleted.
	ReasonDeleting = "ExternalDeleting"
	// ReasonUncertain: a creation may still be in progress, by the process that recorded its token.
	ReasonUncertain = "ExternalUncertain"
	// ReasonUnresolved: only a person can find out whether the resource was created.
	ReasonUnresolved = "ExternalUnresolved"
	// ReasonImmutable: a field differs that cannot be changed.
	ReasonImmutable = "ExternalImmutable"
	// ReasonMissing: a resource that is only observed does not exist.
	ReasonMissing = "ExternalMissing"
	// ReasonForeign: the recorded ID leads to a resource that does not have the owner's key.
	ReasonForeign = "ExternalForeign"
	// ReasonNoProvider: the operator has no provider for the kind.
	ReasonNoProvider = "ExternalNoProvider"
)

// Situation contains everything that determines the next operation.
type Situation struct {
	// Owner is the UID of the object that declares the resource.
	Owner string
	Ref   Ref
	// Declared: the resource should exist. ID is set for a resource that is only observed.
	Declared bool
	ID       string
	Policy   Policy
	// Unreachable: the kind has no provider.
	Unreachable bool
	// CanFind and Once report what the provider can do.
	CanFind, Once bool

	// Entry is the record of the resource. Recorded reports whether one exists.
	Entry    Entry
	Recorded bool
	Attempt
	Evidence
	Performed
}

// Attempt contains the known facts about a creation under the recorded token.
type Attempt struct {
	// Called: a creation was attempted with the token, or may have been. Open: it may still be in progress, or may
	// still take effect. Expired: the token is too old to start a creation with it.
	Called, Open, Expired bool
	// Made is the ID that a creation by this process returned. Said is what a person stated about the creation.
	Made, Said string
}

// Evidence contains the observations of the external system.
type Evidence struct {
	// Asked: Find was called with the key, and Found is the ID that it returned.
	Asked bool
	Found string
	// Looked: the resource was observed, and the other fields are the result. Fresh: it was just created.
	Looked, Exists, Fresh bool
	// Waits is what the resource waits for until it is ready. Drift and Immutable are fields that differ from the desired
	// state. The latter cannot be changed.
	Waits            string
	Drift, Immutable []string
	// Proven: the system returned the recorded id for the owner's key, or this process created it. Anyone who may write the
	// owner can write another id into its record.
	Proven bool
}

// Performed contains the operations that were already done for the current desired state.
type Performed struct {
	Updated, Deleted, Replaced bool
}

// Action is the next operation, with the reason for it: a clause for people.
type Action struct {
	Verb   Verb
	ID     string
	Reason string
	Why    string
}

// Trusted reports whether the resource with the ID may be used: the author named it, it is proven to be the owner's, or the
// provider is not a [Finder], so that nothing can be proven.
func (s Situation) Trusted() bool { return s.ID != "" || s.Proven || !s.CanFind }

// Next returns the next operation for a resource. Call it again after each call and each edit, until it returns Done, Wait or
// Stall.
func Next(s Situation) Action {
	switch {
	case !s.Declared:
		return s.leave()
	case s.Unreachable:
		return s.noProvider()
	case s.Policy.Observe:
		return s.observe()
	case !s.Recorded:
		return s.begin()
	case s.Entry.ID == "":
		return s.resume()
	case s.Entry.Orphan != s.Policy.Orphan:
		return Action{Verb: Keep, Why: "the policy changed"}
	}
	return s.maintain()
}

func (s Situation) noProvider() Action {
	return Action{Verb: Stall, Reason: ReasonNoProvider, Why: fmt.Sprintf(
		"this operator does not say how to reach resources of kind %q: run the version that made it, or set the annotation %s to %s to leave it behind",
		s.Ref.Kind, PolicyAnnotation, PolicyOrphan)}
}

// prove looks up the owner's key before an ID that is only recorded is used.
func (s Situation) prove() Action {
	if !s.Asked {
		return Action{Verb: Find}
	}
	return Action{Verb: Stall, ID: s.Entry.ID, Reason: ReasonForeign, Why: fmt.Sprintf(
		"is recorded as %q, but the external system does not find that ID under the key of this object, so it is left alone. Remove it from the annotation %s, or give it the key %s in the external system",
		s.Entry.ID, RecordAnnotation, KeyOf(s.Owner, s.Ref))}
}

// observe returns the action for a resource that must not be changed.
func (s Situation) observe() Action {
	id := s.ID
	if id == "" {
		id = s.Entry.ID
	}
	switch {
	case s.ID != "" && s.Recorded:
		return Action{Verb: Drop, ID: s.Entry.ID, Why: "is only observed from now on"}
	case id == "":
		return Action{Verb: Wait, Reason: ReasonMissing, Why: "is only observed, but its id is unknown"}
	case !s.Looked:
		return Action{Verb: Look, ID: id}
	case !s.Exists:
		return Action{Verb: Wait, Reason: ReasonMissing, Why: "is only observed, but does not exist"}
	case !s.Trusted():
		return s.prove()
	case s.Waits != "":
		return Action{Verb: Wait, ID: id, Reason: ReasonNotReady, Why: s.Waits}
	}
	return Action{Verb: Done, ID: id}
}

// begin returns the action for a resource that is not recorded. A lost record must not lead to a second creation.
func (s Situation) begin() Action {
	if s.Made != "" {
		return Action{Verb: Note, ID: s.Made}
	}
	if s.CanFind && !s.Asked {
		return Action{Verb: Find}
	}
	if s.Found != "" {
		return Action{Verb: Note, ID: s.Found, Why: "was there under its key"}
	}
	return Action{Verb: MarkIt}
}

// resume returns the action for a resource that was marked and whose ID is not known.
func (s Situation) resume() Action {
	switch {
	case s.Made != "":
		return Action{Verb: Note, ID: s.Made}
	case !s.Called && s.Expired:
		return Action{Verb: MarkIt, Why: "the intent record is old"}
	case !s.Called:
		return Action{Verb: Create}
	case s.Said == None:
		return Action{Verb: MarkIt, Why: "a person stated that nothing was created"}
	case s.Said != "" && !s.CanFind:
		return Action{Verb: Note, ID: s.Said, Why: "a person stated that"}
	case s.CanFind && !s.Asked:
		return Action{Verb: Find}
	case s.Found != "":
		return Action{Verb: Note, ID: s.Found, Why: "was created before this operator could record that"}
	case s.Once:
		return Action{Verb: Create, Why: "repeating it creates no second one"}
	case !s.CanFind:
		return s.unresolved()
	case s.Open:
		return Action{Verb: Wait, Reason: ReasonUncertain, Why: "may be in creation, by a call whose result is unknown; it is looked up again before it is created"}
	}
	return Action{Verb: MarkIt, Why: "was not created before"}
}

func (s Situation) unresolved() Action {
	return Action{Verb: Stall, Reason: ReasonUnresolved, Why: fmt.Sprintf(
		"is in doubt: the operator ended, or the response was lost, during its creation, and the system cannot look it up by key. Check the system, and then set the annotation %s to %s=ID, or to %s=%s",
		ResolvedAnnotation, s.Ref, s.Ref, None)}
}

// maintain returns the action for a resource that has an ID.
func (s Situation) maintain() Action {
	id := s.Entry.ID
	switch {
	case !s.Looked:
		return Action{Verb: Look, ID: id}
	case !s.Exists && s.Fresh:
		return Action{Verb: Wait, ID: id, Reason: ReasonNotReady, Why: "was created, but is not visible yet"}
	case !s.Exists:
		return Action{Verb: Drop, ID: id, Why: "is gone"}
	case !s.Trusted():
		return s.prove()
	case s.Deleted:
		return Action{Verb: Wait, ID: id, Reason: ReasonDeleting, Why: "is deleted to be recreated"}
	case len(s.Immutable) > 0 && s.Replaced:
		return Action{Verb: Stall, ID: id, Reason: ReasonImmutable, Why: fmt.Sprintf("still differs in %s after it was replaced", strings.Join(s.Immutable, ", "))}
	case len(s.Immutable) > 0 && s.Policy.Replace:
		return Action{Verb: Delete, ID: id, Why: fmt.Sprintf("%s cannot be changed", strings.Join(s.Immutable, ", "))}
	case len(s.Immutable) > 0:
		return Action{Verb: Stall, ID: id, Reason: ReasonImmutable, Why: fmt.Sprintf("%s cannot be changed, and it may not be replaced", strings.Join(s.Immutable, ", "))}
	case len(s.Drift) > 0 && s.Updated:
		return Action{Verb: Wait, ID: id, Reason: ReasonNotReady, Why: fmt.Sprintf("was updated and still differs in %s", strings.Join(s.Drift, ", "))}
	case len(s.Drift) > 0:
		return Action{Verb: Update, ID: id, Why: strings.Join(s.Drift, ", ")}
	case s.Waits != "":
		return Action{Verb: Wait, ID: id, Reason: ReasonNotReady, Why: s.Waits}
	}
	return Action{Verb: Done, ID: id}
}

// leave returns the action for a resource that is no longer declared, or whose owner is being deleted.
func (s Situation) leave() Action {
	id := s.Entry.ID
	switch {
	case !s.Recorded:
		return Action{Verb: Done}
	case s.Policy.Orphan || s.Entry.Orphan:
		return Action{Verb: Drop, ID: id, Why: "is left behind"}
	case s.Unreachable:
		return s.noProvider()
	case id == "":
		return s.leaveMark()
	case !s.Looked:
		return Action{Verb: Look, ID: id}
	case !s.Exists && !s.Fresh:
		return Action{Verb: Drop, ID: id, Why: "is deleted"}
	case s.Exists && !s.Trusted():
		return s.prove()
	case !s.Deleted:
		return Action{Verb: Delete, ID: id, Why: "is no longer declared"}
	}
	return Action{Verb: Wait, ID: id, Reason: ReasonDeleting, Why: "is being deleted"}
}

// leaveMark returns the action for a resource that is no longer declared and may have been created.
func (s Situation) leaveMark() Action {
	switch {
	case s.Made != "":
		return Action{Verb: Note, ID: s.Made}
	case s.Said == None || !s.Called:
		return Action{Verb: Drop, Why: "was not made"}
	case s.Said != "" && !s.CanFind:
		return Action{Verb: Note, ID: s.Said, Why: "a person stated that"}
	case !s.CanFind:
		return s.unresolved()
	case !s.Asked:
		return Action{Verb: Find}
	case s.Found != "":
		return Action{Verb: Note, ID: s.Found, Why: "was created before this operator could record that"}
	case s.Open:
		return Action{Verb: Wait, Reason: ReasonUncertain, Why: "may be in creation, by a call whose result is unknown; it is looked up again before it is forgotten"}
	}
	return Action{Verb: Drop, Why: "was not made"}
}
