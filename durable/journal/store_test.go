package journal_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/durable/journal"
)

// A journal that cannot be read is reported, and is stored unchanged.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"newer":         {`{"version":2,"phase":"Running","steps":{"dump":{"at":1}}}`, "is of version 2, and this operator knows 1"},
		"other version": {`{"version":"v3"}`, `is of version "v3", and this operator knows 1`},
		"no version":    {`{"phase":"Running"}`, "has no version"},
		"unknown phase": {`{"version":1,"phase":"Odd"}`, "is of version 1 but cannot be read"},
		"unknown state": {`{"version":1,"phase":"Running","steps":[{"name":"a","state":"Odd","attempts":1}]}`, "cannot be read"},
		"no name":       {`{"version":1,"phase":"Running","steps":[{"state":"Done","attempts":1}]}`, "cannot be read"},
		"garbage":       {`"x"`, "has no version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var holder struct{ Journal *journal.Journal }
			if err := json.Unmarshal([]byte(`{"journal":`+test.text+`}`), &holder); err != nil {
				t.Fatal(err)
			}
			if err := holder.Journal.Check(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q in it", err, test.want)
			}
			if again, err := json.Marshal(holder.Journal.DeepCopy()); err != nil || string(again) != test.text {
				t.Errorf("stored again it is %s (%v), want %s", again, err, test.text)
			}
		})
	}
}

// The end of a run can be seen even if its journal cannot be read.
func TestEndOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		phase journal.Phase
		ended bool
	}{
		`{"version":1,"phase":"Undoing"}`:                                       {journal.Undoing, false},
		`{"version":1,"phase":"Succeeded"}`:                                     {journal.Succeeded, true},
		`{"version":2,"phase":"Failed"}`:                                        {journal.Failed, true},
		`{"version":2,"phase":"Running","finishedAt":"2026-01-01T00:00:00Z"}`:   {journal.Running, false},
		`{"version":2,"phase":"Abandoned","finishedAt":"2026-01-01T00:00:00Z"}`: {"Abandoned", true},
		`{"version":2,"phase":"Pausing"}`:                                       {"Pausing", false},
		`{"version":2,"phase":{"name":"Done"},"finishedAt":null}`:               {"", false},
		`"x"`: {"", false},
	} {
		j := &journal.Journal{}
		if err := json.Unmarshal([]byte(text), j); err != nil {
			t.Fatal(err)
		}
		if phase, ended := journal.EndOf(j); phase != want.phase || ended != want.ended {
			t.Errorf("%s has ended: %t, as %q", text, ended, phase)
		}
	}
}

// Each step, and each run, has its own key, also if the journal of an earlier run was removed. A stored journal keeps its keys.
func TestKey(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, object := range []string{"a", "b"} {
		for _, run := range []int32{1, 2, 11} {
			for began := range 2 {
				j := journal.New(object, run, "", time.Unix(int64(began), 0))
				for _, step := range []string{"dump", "upload"} {
					key := j.Key(step)
					if len(key) != 32 || seen[key] || key != j.DeepCopy().Key(step) {
						t.Errorf("the key of %s in run %d of %s is %q, which is not its own", step, run, object, key)
					}
					seen[key] = true
				}
			}
		}
	}
	released := &journal.Journal{}
	text := `{"version":1,"run":1,"id":"4d6c9c1a2f0b8e7d5a3b1c9d8e7f6a5b","phase":"Running"}`
	if err := json.Unmarshal([]byte(text), released); err != nil || released.Key("dump") != "7ee7af0bfb17763bd50ec3a56bb770ca" {
		t.Errorf("the key of a stored run is %s, %v", released.Key("dump"), err)
	}
}

// Whatever the status contains, it can be read, checked, copied and stored without loss.
func FuzzRead(f *testing.F) {
	f.Add(`{"version":1,"run":1,"id":"x","phase":"Running","steps":[{"name":"a","state":"Done","attempts":1,"result":"1"}]}`)
	f.Add(`{"version":2}`)
	f.Add(`null`)
	f.Add(`[]`)
	f.Add(`{"version":1,"phase":"Undoing","startedAt":"2026-01-01T00:00:00.000000Z"}`)
	f.Fuzz(func(t *testing.T, text string) {
		j := &journal.Journal{}
		if err := json.Unmarshal([]byte(text), j); err != nil {
			return // not JSON
		}
		readable := j.Check() == nil
		stored, err := json.Marshal(j.DeepCopy())
		if err != nil {
			t.Fatal(err)
		}
		again := &journal.Journal{}
		if err := json.Unmarshal(stored, again); err != nil {
			t.Fatalf("%s becomes %s: %v", text, stored, err)
		}
		if text == "null" || strings.TrimSpace(text) == "null" {
			return
		}
		if (again.Check() == nil) != readable || readable && !journal.Same(j, again) {
			t.Errorf("%s becomes %s, which is something else", text, stored)
		}
	})
}
