package boxtest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/local/localtest"
)

// Lines is the output of a logger.
type Lines struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *Lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Has returns a check that a text was logged.
func (l *Lines) Has(text string) func(context.Context) error {
	return func(context.Context) error {
		if logged := l.String(); !strings.Contains(logged, text) {
			return fmt.Errorf("logged is %s", logged)
		}
		return nil
	}
}

// OperatorLog collects the log of an operator.
type OperatorLog struct {
	mu    sync.Mutex
	lines []Line
}

// Line is a log line of an operator.
type Line struct {
	Level, Msg, Name string
	Reason, Outcome  string
	Causes           []string
	Writes           int
	text             string
}

// Write implements io.Writer.
func (j *OperatorLog) Write(data []byte) (int, error) {
	var l Line
	if err := json.Unmarshal(data, &l); err != nil {
		return 0, err
	}
	l.text = string(data)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, l)
	return len(data), nil
}

// Logged returns a configuration that makes an operator log from the given level on.
func Logged(level slog.Level) (*OperatorLog, operon.Config) {
	j := &OperatorLog{}
	return j, operon.Config{Log: slog.New(slog.NewJSONHandler(j, &slog.HandlerOptions{Level: level}))}
}

// Of returns the log lines with a message about the named object.
func (j *OperatorLog) Of(msg, name string) []Line {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(j.lines), func(l Line) bool { return l.Msg != msg || l.Name != name })
}

// All returns everything that was logged.
func (j *OperatorLog) All() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var all strings.Builder
	for _, l := range j.lines {
		all.WriteString(l.text)
	}
	return all.String()
}

// Because waits until a reconcile of the object reports a cause that contains the text.
func (j *OperatorLog) Because(t testing.TB, name, text string) {
	t.Helper()
	localtest.Eventually(t, fmt.Sprintf("a reconcile of %s because %q", name, text), func(context.Context) error {
		var all []string
		for _, l := range j.Of("reconciled", name) {
			all = append(all, strings.Join(l.Causes, " and "))
		}
		if slices.ContainsFunc(all, func(causes string) bool { return strings.Contains(causes, text) }) {
			return nil
		}
		return fmt.Errorf("there were %q", all)
	})
}

// RunLogging runs an operator in the test's namespace.
func (w *Fixture) RunLogging(how operon.Config, composer operon.Composer[*Box]) *Traffic {
	how.Namespace = w.Namespace
	requests, _ := w.RunWith(w.Config, how, operon.API(AddToScheme), operon.Manage(composer))
	return requests
}
