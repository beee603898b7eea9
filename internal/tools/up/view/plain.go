package view

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/operon-framework/operon/internal/tools/terminal"
	"github.com/operon-framework/operon/internal/tools/up/tree"
)

// Plain writes one line for each change from one State to the next.
type Plain struct {
	out      io.Writer
	phase    string
	nodes    map[string]string
	problems []Problem
	events   map[string]bool
	since    time.Time
}

// NewPlain returns a Plain that writes to out, and of events only those from since on.
func NewPlain(out io.Writer, since time.Time) *Plain {
	return &Plain{out: terminal.NewWriter(out), nodes: map[string]string{}, events: map[string]bool{}, since: since.Truncate(time.Second)}
}

// Update writes what changed since the last State.
func (p *Plain) Update(state State) {
	p.operator(state.Operator)
	p.trouble(state.Problems)
	p.tree(state.Tree)
	for _, event := range state.Tree.Events {
		line := fmt.Sprintf("event    %s: %s: %s", event.Object, event.Reason, event.Message)
		if !p.events[line] && !event.Last.Before(p.since) {
			p.events[line] = true
			fmt.Fprintln(p.out, line)
		}
	}
}

func (p *Plain) operator(operator Operator) {
	text := "operator " + string(operator.Phase)
	if operator.Phase == Running {
		text += fmt.Sprintf(", pid %d", operator.PID)
	}
	if text != p.phase {
		p.phase = text
		fmt.Fprintln(p.out, text)
	}
}

func (p *Plain) trouble(problems []Problem) {
	for _, problem := range problems {
		known := slices.ContainsFunc(p.problems, func(old Problem) bool {
			return old.Title == problem.Title && slices.Equal(old.Lines, problem.Lines)
		})
		if known {
			continue
		}
		fmt.Fprintln(p.out, "problem  "+problem.Title)
		for _, line := range problem.Lines {
			fmt.Fprintln(p.out, "         "+line)
		}
	}
	for _, old := range p.problems {
		if !slices.ContainsFunc(problems, func(now Problem) bool { return now.Title == old.Title }) {
			fmt.Fprintln(p.out, "solved   "+old.Title)
		}
	}
	p.problems = problems
}

func (p *Plain) tree(snapshot tree.Snapshot) {
	now := map[string]string{}
	var walk func(*tree.Node)
	walk = func(node *tree.Node) {
		address := node.Address()
		text := strings.TrimSuffix(string(node.State)+": "+node.Message, ": ")
		now[address] = text
		if p.nodes[address] != text {
			fmt.Fprintf(p.out, "object   %s: %s\n", address, text)
		}
		for _, child := range node.Children {
			walk(child)
		}
	}
	for _, root := range snapshot.Roots {
		walk(root)
	}
	p.gone(now)
	p.nodes = now
}

func (p *Plain) gone(now map[string]string) {
	var gone []string
	for address := range p.nodes {
		if _, there := now[address]; !there {
			gone = append(gone, address)
		}
	}
	slices.Sort(gone)
	for _, address := range gone {
		fmt.Fprintf(p.out, "object   %s: gone\n", address)
	}
}
