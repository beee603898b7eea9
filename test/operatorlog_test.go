package operon_test

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

// operatorLog collects the log of an operator.
type operatorLog struct {
	mu    sync.Mutex
	lines []line
}

// line is a log line.
type line struct {
	Level, Msg, Name string
	Reason, Outcome  string
	Causes           []string
	Writes           int
	text             string
}

func (j *operatorLog) Write(data []byte) (int, error) {
	var l line
	if err := json.Unmarshal(data, &l); err != nil {
		return 0, err
	}
	l.text = string(data)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, l)
	return len(data), nil
}

// logged returns a configuration that makes an operator log from the given level on.
func logged(level slog.Level) (*operatorLog, operon.Config) {
	j := &operatorLog{}
	return j, operon.Config{Log: slog.New(slog.NewJSONHandler(j, &slog.HandlerOptions{Level: level}))}
}

// of returns the log lines with a message about the named object.
func (j *operatorLog) of(msg, name string) []line {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(j.lines), func(l line) bool { return l.Msg != msg || l.Name != name })
}

func (j *operatorLog) all() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var all strings.Builder
	for _, l := range j.lines {
		all.WriteString(l.text)
	}
	return all.String()
}

// because waits until a reconcile of the object reports a cause that contains the text.
func (j *operatorLog) because(t testing.TB, name, text string) {
	t.Helper()
	localtest.Eventually(t, fmt.Sprintf("a reconcile of %s because %q", name, text), func(context.Context) error {
		var all []string
		for _, l := range j.of("reconciled", name) {
			all = append(all, strings.Join(l.Causes, " and "))
		}
		if slices.ContainsFunc(all, func(causes string) bool { return strings.Contains(causes, text) }) {
			return nil
		}
		return fmt.Errorf("there were %q", all)
	})
}

// runLogging runs an operator in the test's namespace.
func (w *world) runLogging(how operon.Config, composer operon.Composer[*Box]) *traffic {
	how.Namespace = w.Namespace
	requests, _ := w.runWith(w.Config, how, operon.API(addBox), operon.Manage(composer))
	return requests
}
