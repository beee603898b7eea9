package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/operon-framework/operon/internal/tools/terminal"
	"github.com/operon-framework/operon/internal/tools/up/tree"
)

// Limits of the number of events and log lines shown.
const (
	shownEvents = 5
	shownLog    = 4
	shownLines  = 30 // of one problem
)

// Render returns the display of a state, in lines of at most width columns.
func Render(state State, width int, style Style) []string {
	page := &page{width: width, style: style}
	page.add(style.bold(state.Project)+" on "+state.Cluster, operatorLine(state, style))
	for _, problem := range state.Problems {
		page.problem(problem)
	}
	page.section("", treeRows(state, style).lines(width, style))
	page.section("Events", eventLines(state, style))
	page.section("Log", dimmed(lastOf(state.Log, shownLog), style))
	if len(state.Unseen) > 0 {
		page.section("", []string{style.dim("not shown, for lack of permission: " + strings.Join(state.Unseen, ", "))})
	}
	if state.Hint != "" {
		page.section("", []string{style.dim(state.Hint)})
	}
	return page.lines
}

// Tree returns the part of the display with the objects.
func Tree(state State, width int, style Style) []string {
	page := &page{width: width, style: style}
	page.add(treeRows(state, style).lines(width, style)...)
	return page.lines
}

// page collects lines that fit the width.
type page struct {
	width int
	style Style
	lines []string
}

func (p *page) add(lines ...string) {
	for _, line := range lines {
		p.lines = append(p.lines, terminal.Cut(line, p.width))
	}
}

// section adds lines after an empty line, below a title if there is one. It adds nothing if there are no lines.
func (p *page) section(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	p.add("")
	if title != "" {
		p.add(p.style.bold(title))
	}
	p.add(lines...)
}

func (p *page) problem(problem Problem) {
	p.add("", p.style.red("✗ "+terminal.Line(problem.Title)))
	shown := problem.Lines[:min(len(problem.Lines), shownLines)]
	for _, line := range shown {
		p.add("  " + strings.ReplaceAll(terminal.Unstyled(line), "\t", "    "))
	}
	if hidden := len(problem.Lines) - len(shown); hidden > 0 {
		p.add(fmt.Sprintf("  … %d more lines", hidden))
	}
}

func operatorLine(state State, style Style) string {
	operator := state.Operator
	text := "operator " + string(operator.Phase)
	if operator.Phase == Running {
		text = fmt.Sprintf("operator %s for %s, pid %d", style.green(string(operator.Phase)), age(state.Now, operator.Since), operator.PID)
	}
	if operator.Reconciles >= 0 && operator.Phase == Running {
		text += fmt.Sprintf(", %.0f reconciles, %.1f a second", operator.Reconciles, operator.PerSecond)
	}
	if operator.Restarts > 0 {
		text += ", " + style.red(fmt.Sprintf("ended %s by itself", times(operator.Restarts)))
	}
	if operator.Rebuilding {
		text += ", building a newer one"
	}
	return text
}

func eventLines(state State, style Style) []string {
	var lines []string
	for _, event := range lastOf(state.Tree.Events, shownEvents) {
		line := fmt.Sprintf("%5s  %s  %s  %s", age(state.Now, event.Last), event.Object, terminal.Line(event.Reason), terminal.Line(event.Message))
		if event.Count > 1 {
			line += fmt.Sprintf(" (%d times)", event.Count)
		}
		if event.Type == "Warning" {
			line = style.yellow(line)
		}
		lines = append(lines, line)
	}
	return lines
}

// conditionLine summarizes a custom resource's conditions.
func conditionLine(node *tree.Node) string {
	var parts []string
	for _, condition := range tree.Conditions(node.Object) {
		part := condition.Type + "=" + condition.Status
		if condition.Reason != "" {
			part += " (" + condition.Reason + ")"
		}
		parts = append(parts, part)
	}
	return terminal.Clean(strings.Join(parts, "  "))
}

func dimmed(lines []string, style Style) []string {
	var all []string
	for _, line := range lines {
		all = append(all, style.dim(strings.ReplaceAll(terminal.Unstyled(line), "\t", "  ")))
	}
	return all
}

func lastOf[T any](all []T, n int) []T { return all[max(0, len(all)-n):] }

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// age formats the time since a moment: 8s, 5m, 3h, 2d.
func age(now, since time.Time) string {
	passed := max(0, now.Sub(since))
	switch {
	case passed < time.Minute:
		return fmt.Sprintf("%ds", int(passed.Seconds()))
	case passed < time.Hour:
		return fmt.Sprintf("%dm", int(passed.Minutes()))
	case passed < 48*time.Hour:
		return fmt.Sprintf("%dh", int(passed.Hours()))
	default:
		return fmt.Sprintf("%dd", int(passed.Hours()/24))
	}
}
