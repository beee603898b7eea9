package journal_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/internal/testing/scenario"
)

func TestScenarios(t *testing.T) {
	t.Parallel()
	scenario.Run(t, 14, play)
}

// epoch is the time at which stories begin.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// story is a run that a file describes, one event per line:
//
//	at 5s                     the time since the beginning
//	reach 0 dump              the code comes to its first step, named dump
//	done 0 "a.dump"           the step ends so; wait, fail, fatal take a message
//	cancel, break, finish 2, undo 0 1, undone 1, unfail 1 MESSAGE, close
//	restart                   the journal is stored and read
//	show                      the journal
type story struct {
	journal *journal.Journal
	now     time.Time
	out     strings.Builder
}

func play(t *testing.T, given string) string {
	t.Helper()
	s := &story{now: epoch}
	s.journal = journal.New("object", 1, "", s.now)
	for line := range strings.Lines(given) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		s.do(t, line)
	}
	return s.out.String()
}

var retry = journal.Retry{Attempts: 3, First: time.Second, Max: 10 * time.Second}

func (s *story) do(t *testing.T, line string) {
	t.Helper()
	words := append(strings.SplitN(line, " ", 3), "", "")
	place, _ := strconv.Atoi(words[1])
	var said any = ""
	switch words[0] {
	case "at":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			t.Fatal(err)
		}
		s.now = epoch.Add(d)
		return
	case "reach":
		said = s.reach(place, words[2])
	case "done":
		said = s.journal.Done(place, strings.Replace(words[2], "LONG", strings.Repeat("x", journal.MaxResult), 1), s.now)
	case "wait":
		s.journal.Wait(place, words[2])
	case "fail", "fatal":
		said = fmt.Sprintf("last %t", s.journal.Failed(place, words[2], words[0] == "fatal", retry, s.now))
	case "cancel":
		s.journal.Cancel(words[1])
	case "break":
		s.journal.Break(words[1])
	case "finish":
		said = s.journal.Finish(place)
	case "undo":
		said = s.undo(words[1] + words[2])
	case "undone":
		s.journal.Undone(place)
	case "unfail":
		s.journal.UndoFailed(place, words[2], retry, s.now)
	case "close":
		s.journal.Close(s.now)
		said = s.journal.Phase
	case "restart":
		s.restart(t)
	case "show":
		said = s.show()
	default:
		t.Fatalf("a story does not have %q", line)
	}
	if said != nil && said != "" {
		fmt.Fprintf(&s.out, "%s: %v\n", line, said)
	}
}

// reach starts the step if it has to be started.
func (s *story) reach(place int, name string) string {
	next, err := s.journal.Reach(place, name, s.now)
	if err != nil {
		return fmt.Sprintf("%s: %v", next, err)
	}
	if next == journal.Begin {
		s.journal.Begun(place, name, s.now)
	}
	return string(next)
}

// undo starts to undo the next of the given steps. Each step is a digit.
func (s *story) undo(digits string) string {
	place, next, ok := s.journal.Undo(func(place int) bool { return strings.Contains(digits, strconv.Itoa(place)) }, s.now)
	if !ok {
		return "nothing"
	}
	if next == journal.Begin {
		s.journal.UndoBegun(place)
	}
	return fmt.Sprintf("%s %s", next, s.journal.Steps[place].Name)
}

func (s *story) restart(t *testing.T) {
	t.Helper()
	text, err := json.Marshal(s.journal)
	if err != nil {
		t.Fatal(err)
	}
	read := &journal.Journal{}
	if err := json.Unmarshal(text, read); err != nil {
		t.Fatal(err)
	}
	if err := read.Check(); err != nil {
		t.Fatal(err)
	}
	s.journal = read
}

func (s *story) show() string {
	j := s.journal
	lines := []string{fmt.Sprintf("%s (%s)", j.Phase, j.Summary())}
	for _, step := range j.Steps {
		line := fmt.Sprintf("  %-8s %-8s attempts %d", step.Name, step.State, step.Attempts)
		if step.Failures > 0 {
			line += fmt.Sprintf(" failures %d", step.Failures)
		}
		if step.NextAt != nil {
			line += fmt.Sprintf(" next at %s", step.NextAt.Sub(epoch))
		}
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%s %s %s", line, step.Result, step.Message), " "))
	}
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l == "" }), "\n")
}
