package prove

import (
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/prove/finding"
)

// Runs that fail at the same time are one failure. After three failures without a completed run between them, the session ends.
func TestOutage(t *testing.T) {
	t.Parallel()
	o := &outage{}
	began := time.Now()
	for range 6 {
		if !o.ends(began) {
			t.Fatal("runs that began at the same time end the session")
		}
	}
	if !o.ends(time.Now().Add(time.Second)) {
		t.Error("the second failure ends the session")
	}
	o.over()
	for i, want := range []bool{true, true, false} {
		if got := o.ends(time.Now().Add(time.Minute)); got != want {
			t.Errorf("failure %d after a completed run: continues %t", i+1, got)
		}
	}
}

// A failure takes the place of a note about the same, and is confirmed before.
func TestOutweighs(t *testing.T) {
	t.Parallel()
	s := &session{found: map[string]*finding.Finding{}}
	note := finding.Finding{Property: finding.NothingLeft, Message: "it remains", Level: finding.Note}
	failure := finding.Finding{Property: finding.NothingLeft, Message: "it remains"}
	s.confirmed(note, nil)
	if !s.known(note) || s.known(failure) {
		t.Error("a note makes a failure known")
	}
	s.confirmed(failure, nil)
	if f := s.found[failure.Key()]; !f.Fails() || !s.known(failure) {
		t.Errorf("the finding is %+v", f)
	}
	s.confirmed(note, nil)
	if f := s.found[failure.Key()]; !f.Fails() {
		t.Errorf("after a note, the finding is %+v", f)
	}
}
