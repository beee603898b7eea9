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

// NewPlain returns a Plain that writes to out. It ignores events before since.
func NewPlain(out io.Writer, since time.Time) *Plain {
	return &Plain{out: terminal.NewWriter(out), nodes: map[string]string{}, events: map[string]bool{}, since: since.Truncate(time.Second)}
}

// Update writes the changes since the last State.
func (p *Plain) Update(state State) {
	p.operator(state.Operator)
	p.trouble(state.Problems)
	p.tree(state.Tree)
	for _, event := range state.Tree.Events {
		line := fmt.Sprintf("event    %s: %s: %s", event.Object, event.Reason, event.Message)
		if !p.events[line] && !event.Last.Before(p.since) {
			p.events[line] = true
			p.print(line)
		}
	}
}

func (p *Plain) print(line string) { fmt.Fprintln(p.out, terminal.Unstyled(line)) }

func (p *Plain) operator(operator Operator) {
	text := "operator " + string(operator.Phase)
	if operator.Phase == Running {
		text += fmt.Sprintf(", pid %d", operator.PID)
	}
	if text != p.phase {
		p.phase = text
		p.print(text)
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
		p.print("problem  " + problem.Title)
		for _, line := range problem.Lines {
			p.print("         " + line)
		}
	}
	for _, old := range p.problems {
		if !slices.ContainsFunc(problems, func(now Problem) bool { return now.Title == old.Title }) {
			p.print("solved   " + old.Title)
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
			p.print("object   " + address + ": " + text)
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
		p.print("object   " + address + ": gone")
	}
}
