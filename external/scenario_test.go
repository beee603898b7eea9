package external_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/testing/scenario"
)

// story is the upper half of a file: a situation, and how the world answers to what comes next.
type story struct {
	Why       string
	Situation external.Situation
	// Finds is the id that is found by the key, There whether an id leads to something.
	Finds string
	There bool
	// Waits, Drift and Immutable are what is seen of it; an update ends drift unless Stubborn, and so
	// does another creation with what is immutable.
	Waits            string
	Drift, Immutable []string
	Stubborn         bool
	// Slow: what is deleted is there for a while yet.
	Slow bool
}

// maxWalk is more than any walk takes.
const maxWalk = 20

func TestScenarios(t *testing.T) {
	t.Parallel()
	scenario.Run(t, 25, play)
}

// play asks what comes next and lets it happen, until that ends, and tells each step.
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

// happen is the world's part, and the record's.
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
