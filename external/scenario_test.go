package external_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/testing/scenario"
)

// story is the input part of a file: a situation, and the responses of the external system.
type story struct {
	Why       string
	Situation external.Situation
	// Finds is the ID that is found by the key. There reports whether a resource with the ID exists.
	Finds string
	There bool
	// Waits, Drift and Immutable are observed. Unless Stubborn is set, an update ends Drift, and a new creation ends
	// Immutable.
	Waits            string
	Drift, Immutable []string
	Stubborn         bool
	// Slow means that a deletion takes some time.
	Slow bool
}

// maxWalk is greater than the number of steps in any scenario.
const maxWalk = 20

func TestScenarios(t *testing.T) {
	t.Parallel()
	scenario.Run(t, 25, play)
}

// play repeatedly determines the next operation and executes it until the walk ends, and records each step.
func play(t *testing.T, given string) string {
	t.Helper()
	var s story
	if err := yaml.UnmarshalStrict([]byte(given), &s); err != nil {
		t.Fatal(err)
	}
	s.Situation.Owner = "0f9a"
	s.Situation.Ref = external.Ref{Kind: "machine", Name: "one"}
	s.Situation.Recorded = s.Situation.Entry != external.Entry{}
	var told []string
	for range maxWalk {
		action := external.Next(s.Situation)
		line := strings.TrimSpace(fmt.Sprintf("%s %s", action.Verb, action.ID))
		if action.Reason != "" {
			line += " " + action.Reason
		}
		if action.Why != "" {
			line += ": " + action.Why
		}
		told = append(told, line)
		if !action.Verb.Call() && !action.Verb.Edit() {
			return strings.Join(told, "\n") + "\n"
		}
		s.happen(action)
	}
	t.Errorf("it goes round in circles: %q", told)
	return ""
}

// happen simulates the effect of an operation on the external system and on the record.
func (s *story) happen(a external.Action) {
	w := &s.Situation
	switch a.Verb {
	case external.Find:
		w.Asked, w.Found = true, s.Finds
		w.Proven = s.Finds != "" && s.Finds == w.Entry.ID
	case external.Look:
		w.Looked, w.Exists, w.Waits, w.Drift, w.Immutable = true, s.There, s.Waits, s.Drift, s.Immutable
	case external.Create:
		w.Called, w.Made, s.There, s.Drift = true, "new", true, nil
		if !s.Stubborn {
			s.Immutable = nil
		}
	case external.Update:
		w.Updated, w.Looked = true, false
		if !s.Stubborn {
			s.Drift = nil
		}
	case external.Delete:
		w.Deleted, w.Looked, s.There = true, false, s.Slow
	case external.MarkIt:
		w.Recorded, w.Entry, w.Called, w.Expired, w.Said = true, external.Entry{Token: "t", By: "us", Orphan: w.Policy.Orphan}, false, false, ""
	case external.Note:
		w.Recorded, w.Entry = true, external.Entry{ID: a.ID, Orphan: w.Policy.Orphan}
		w.Made, w.Found, w.Looked, w.Proven, s.There = "", "", false, true, true
	case external.Keep:
		w.Entry.Orphan = w.Policy.Orphan
	case external.Drop:
		w.Replaced = w.Deleted
		w.Recorded, w.Entry, w.Asked, w.Found, w.Looked, w.Deleted, s.Finds = false, external.Entry{}, false, "", false, false, ""
	}
}
