package explain

import (
	"fmt"
	"io"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/runtime/reconcilelog"
	"github.com/operon-framework/operon/internal/tools/terminal"
)

// Limits of the number of items shown.
const (
	shownPasses  = 3
	shownActions = 8
	shownEvents  = 6
)

// Text writes the answer as text for users.
func (a *Answer) Text(out io.Writer) error {
	var page terminal.Page
	page.Lines(a.headline()...)
	page.Section("Next", a.next())
	page.Section("Conditions", a.conditions())
	page.Section("Trouble", a.Trouble)
	page.Section("Reconciled", a.passes())
	page.Section("Actions", a.actions())
	page.Section("Events", a.events())
	page.Section("Unknown", a.Lacks)
	_, err := io.WriteString(out, terminal.Clean(page.String())) // much of it comes from the cluster
	return err
}

// headline returns a summary of the answer.
func (a *Answer) headline() []string {
	lines := []string{fmt.Sprintf("%s %s %s", a.Kind, address(a.Namespace, a.Name), a.state())}
	if ready := a.Ready; ready != nil && ready.Status != metav1.ConditionTrue && ready.Message != "" {
		lines = append(lines, "  "+ready.Message)
	}
	if a.Paused {
		lines = append(lines, "  it is paused by the annotation "+pausedAnnotation)
	}
	if a.Observed != 0 && a.Observed != a.Generation {
		lines = append(lines, fmt.Sprintf("  the status is of generation %d; the operator has not reported on generation %d, the current spec, yet", a.Observed, a.Generation))
	}
	return lines
}

func (a *Answer) state() string {
	said := "reports no state"
	switch ready := a.Ready; {
	case ready == nil && a.State != "":
		said = "is " + a.State + strings.TrimSuffix(": "+a.Message, ": ")
	case ready == nil:
	case ready.Status == metav1.ConditionTrue:
		said = "is ready" + a.since(ready)
	default:
		said = "is not ready" + a.since(ready) + ": " + ready.Reason
	}
	if a.Deleting {
		said = "is being deleted; it " + said
	}
	return said
}

func (a *Answer) since(c *metav1.Condition) string {
	return ", for " + age(a.Now.Sub(c.LastTransitionTime.Time))
}

// next describes when the object is reconciled next.
func (a *Answer) next() []string {
	if len(a.Passes) == 0 {
		return nil
	}
	back := a.Passes[0].Back
	switch {
	case back == nil:
		return []string{"when the object, a child, or an object that it reads changes"}
	case back.At.IsZero():
		return []string{"soon, with growing delays, or when something changes: " + back.For.String()}
	case back.At.Before(a.Now):
		return []string{"now: " + back.For.String()}
	}
	return []string{fmt.Sprintf("in %s, or when something changes: %s", age(back.At.Sub(a.Now)), back.For)}
}

func (a *Answer) conditions() []string {
	var lines []string
	for _, c := range a.Conditions {
		lines = append(lines, fmt.Sprintf("%s=%s (%s): %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return lines
}

// passes describes the last reconciles, the newest first.
func (a *Answer) passes() []string {
	var lines []string
	for i, p := range a.Passes {
		if i == shownPasses {
			return append(lines, fmt.Sprintf("and earlier; -o json has %d more", len(a.Passes)-i))
		}
		lines = append(lines, fmt.Sprintf("%s ago, because %s", age(a.Now.Sub(p.Started)), because(p)), "  "+outcome(p))
	}
	return lines
}

// actions describes the actions on child objects, executed or waiting, the newest first.
func (a *Answer) actions() []string {
	var lines []string
	for _, p := range a.Passes {
		if len(p.Actions) == 0 || len(lines) >= shownActions {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s ago, because %s:", age(a.Now.Sub(p.Started)), because(p)))
		for i, action := range p.Actions {
			if i == shownActions {
				lines = append(lines, fmt.Sprintf("  and %d more", len(p.Actions)-i))
				break
			}
			lines = append(lines, "  "+did(action))
		}
	}
	return lines
}

func because(p reconcilelog.Pass) string {
	said := strings.Join(p.Summary(), ", and ")
	if p.More > 0 {
		said += fmt.Sprintf(", and %d more", p.More)
	}
	return said
}

// outcome describes the result of a reconcile and its cost.
func outcome(p reconcilelog.Pass) string {
	said := p.Outcome
	if p.Reason != "" {
		said += ": " + p.Reason
	}
	said += fmt.Sprintf("; took %s%s", span(p.Took), slowest(p))
	switch p.Writes {
	case 0:
		said += "; wrote nothing"
	case 1:
		said += "; 1 write"
	default:
		said += fmt.Sprintf("; %d writes", p.Writes)
	}
	if p.Repeats > 0 {
		said += fmt.Sprintf("; the last of %d identical ones", p.Repeats+1)
	}
	return said
}

// slowest names the step that took more than half of the time of a reconcile.
func slowest(p reconcilelog.Pass) string {
	for _, s := range p.Steps {
		if s.Took > p.Took/2 {
			return fmt.Sprintf(", most of it to %s", s.Name)
		}
	}
	return ""
}

func did(action reconcilelog.Action) string {
	said := action.Verb + " " + action.Object.String()
	if action.Why != "" {
		said += ": " + action.Why
	}
	if action.Error != "" {
		said += ": " + action.Error
	}
	return said
}

// events describes the last events, the newest first.
func (a *Answer) events() []string {
	var lines []string
	for i := len(a.Events) - 1; i >= 0 && len(lines) < shownEvents; i-- {
		e := a.Events[i]
		line := fmt.Sprintf("%s ago, %s: %s: %s", age(a.Now.Sub(e.At)), e.Object, e.Reason, e.Message)
		if e.Count > 1 {
			line += fmt.Sprintf(" (%d times)", e.Count)
		}
		lines = append(lines, line)
	}
	return lines
}

// age formats the age of something: 12s, 3m, 5h.
func age(d time.Duration) string {
	switch {
	case d < time.Second:
		return "1s" // or less
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// span formats the duration of an operation.
func span(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
