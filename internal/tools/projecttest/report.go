package projecttest

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/operon-framework/operon/internal/tools/projecttest/molecule"
)

// Result is the result of a step.
type Result string

// The results.
const (
	OK      Result = "ok"
	Failed  Result = "failed"
	Skipped Result = "skipped" // because an earlier step failed
)

// Report is the result of a test.
type Report struct {
	Project   string `json:"project"`
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	// Scenario is the name of the scenario, or empty if the project has none.
	Scenario string `json:"scenario,omitempty"`
	Steps    []Step `json:"steps"`
}

// Step is one step of a test.
type Step struct {
	// Name is the name of a playbook, such as verify, or ready, idempotent or deleted.
	Name string `json:"name"`
	// Object is the sample, as "Kind namespace/name". It is empty for playbooks.
	Object  string  `json:"object,omitempty"`
	Result  Result  `json:"result"`
	Seconds float64 `json:"seconds"`
	// Message is the reason of a step that is not OK.
	Message string `json:"message,omitempty"`
	// Task is the task that failed, if the step is a playbook.
	Task *molecule.Task `json:"task,omitempty"`
}

// Failed reports whether a step failed.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Steps, func(s Step) bool { return s.Result == Failed })
}

// Text prints a line for each step, and the reason below a step that failed.
func (r *Report) Text(out io.Writer) error {
	names, objects := 0, 0
	for _, step := range r.Steps {
		names, objects = max(names, len(step.Name)), max(objects, len(step.Object))
	}
	var text strings.Builder
	for _, step := range r.Steps {
		line := fmt.Sprintf("%-7s  %-*s  %-*s  %s", step.Result, names, step.Name, objects, step.Object, seconds(step))
		text.WriteString(line + "\n")
		if step.Result == Failed {
			fmt.Fprintf(&text, "    %s\n", strings.ReplaceAll(step.reason(), "\n", "\n    "))
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}

func seconds(step Step) string {
	if step.Result == Skipped {
		return step.Message
	}
	return (time.Duration(step.Seconds * float64(time.Second))).Round(100 * time.Millisecond).String()
}

// reason returns why a step failed: the message, and the task.
func (s Step) reason() string {
	if s.Task == nil {
		return s.Message
	}
	return fmt.Sprintf("%s (%s)", s.Message, s.Task)
}
