package condition_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/core/condition"
	"github.com/operon-framework/operon/internal/core/operatorversion"
	"github.com/operon-framework/operon/internal/core/outcome"
)

// Each of these conditions exists only while it is true, and does not change Ready.
func TestStates(t *testing.T) {
	t.Parallel()
	now := time.Unix(5, 0)
	done := func(s condition.Status) { s.Report(outcome.Done(), 1, now) }
	for name, c := range map[string]struct {
		do   []func(condition.Status)
		want []string
	}{
		"paused before it was ever ready": {[]func(condition.Status){func(s condition.Status) { s.Pause("m", 1, now) }}, []string{"Paused=True Paused", "Ready=Unknown Paused", "Reconciling=False Paused"}},
		"paused":                          {[]func(condition.Status){done, func(s condition.Status) { s.Pause("m", 2, now) }}, []string{"Paused=True Paused", "Ready=True Ready", "Reconciling=False Paused"}},
		"resumed": {[]func(condition.Status){done, func(s condition.Status) { s.Pause("m", 2, now) }, func(s condition.Status) { s.Resume() }, done},
			[]string{"Ready=True Ready"}},
		"contested":      {[]func(condition.Status){done, func(s condition.Status) { s.Contest("m", 1, now) }}, []string{"Contested=True ChangedBack", "Ready=True Ready"}},
		"peace":          {[]func(condition.Status){func(s condition.Status) { s.Contest("m", 1, now); s.Contest("", 1, now) }}, nil},
		"degraded":       {[]func(condition.Status){done, func(s condition.Status) { s.Degrade("Slow", "m", 1, now) }}, []string{"Degraded=True Slow", "Ready=True Ready"}},
		"degraded again": {[]func(condition.Status){func(s condition.Status) { s.Degrade("Slow", "m", 1, now); s.Degrade("", "", 1, now) }}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var object thing
			status, err := condition.Of(&object)
			if err != nil {
				t.Fatal(err)
			}
			for _, do := range c.do {
				do(status)
			}
			if got := describe(object.Status.Conditions); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if paused := slices.Contains(c.want, "Paused=True Paused"); status.Paused() != paused {
				t.Errorf("Paused is %t", !paused)
			}
		})
	}
}

// A message may quote what a user wrote. A status with a message of more than 32 KiB is refused.
func TestMessagesAreCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("m", 64<<10)
	var object thing
	status, err := condition.Of(&object)
	if err != nil {
		t.Fatal(err)
	}
	status.Report(outcome.Wait("Slow", long), 1, time.Unix(5, 0))
	status.Pause(long, 1, time.Unix(5, 0))
	status.Contest(long, 1, time.Unix(5, 0))
	status.Degrade("Slow", long, 1, time.Unix(5, 0))
	if len(object.Status.Conditions) != 5 {
		t.Errorf("there are %d conditions", len(object.Status.Conditions))
	}
	for _, c := range object.Status.Conditions {
		if len(c.Message) == 0 || len(c.Message) > outcome.MaxMessage+64 {
			t.Errorf("%s has a message of %d bytes", c.Type, len(c.Message))
		}
	}
}

// The recorded version is read back, and an object without one is distinguished from a new object.
func TestRecordIsReadAgain(t *testing.T) {
	t.Parallel()
	var object thing
	status, err := condition.Of(&object)
	if err != nil {
		t.Fatal(err)
	}
	if got := status.Release(); got != (operatorversion.Record{}) {
		t.Errorf("a new object has %+v", got)
	}
	status.Report(outcome.Done(), 1, time.Now())
	if got := status.Release(); got != (operatorversion.Record{Seen: true}) {
		t.Errorf("an object of an operator without a version has %+v", got)
	}
	for _, upgrades := range []bool{true, false} {
		want := operatorversion.Record{Seen: true, Version: "1.2.3", Upgrades: upgrades}
		status.Record(want, time.Now())
		if got := status.Release(); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// A reworded message does not make an object one of an unknown operator.
func TestRecordOfAnotherWordingIsRead(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"the operator's version is 1.4.0":            "1.4.0",
		"the version of the operator is v1.5.0-rc.1": "v1.5.0-rc.1",
		"2.0.0": "2.0.0",
		"":      "",
	} {
		var object thing
		object.Status.Conditions = []metav1.Condition{{Type: condition.Upgraded, Status: metav1.ConditionTrue, Message: message}}
		status, err := condition.Of(&object)
		if err != nil {
			t.Fatal(err)
		}
		if got := status.Release().Version; got != want {
			t.Errorf("%q is read as version %q, want %q", message, got, want)
		}
	}
}

// Statuses that differ only in messages are equal without them, and a copy of the conditions is not changed.
func TestMessagesCanBeDropped(t *testing.T) {
	t.Parallel()
	var object thing
	status, err := condition.Of(&object)
	if err != nil {
		t.Fatal(err)
	}
	status.Report(outcome.Wait("Pods", "1 of 3"), 1, time.Now())
	before, err := condition.All(&object)
	if err != nil {
		t.Fatal(err)
	}
	status.DropMessages()
	if status.Ready().Message != "" || before[0].Message != "1 of 3" {
		t.Errorf("messages %q and %q", status.Ready().Message, before[0].Message)
	}
	if _, err := condition.All(new(int)); err == nil {
		t.Error("conditions of an int")
	}
}
