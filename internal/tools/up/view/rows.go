package view

import (
	"strings"

	"github.com/operon-framework/operon/internal/tools/terminal"
	"github.com/operon-framework/operon/internal/tools/up/tree"
)

// row is one line of the tree, divided into columns.
type row struct {
	branch, name string
	state        tree.State
	message, age string
	// note is the text of a row without columns.
	note string
}

type rows []row

// treeRows returns the rows of the trees.
func treeRows(state State, style Style) rows {
	var all rows
	for i, root := range state.Tree.Roots {
		if i > 0 {
			all = append(all, row{})
		}
		all = append(all, rowOf(state, root, "", root.Address()))
		if conditions := conditionLine(root); conditions != "" {
			trunk := "  "
			if len(root.Children) > 0 {
				trunk = "│ "
			}
			all = append(all, row{branch: trunk, note: style.dim(conditions)})
		}
		all = append(all, below(state, root, "")...)
	}
	return all
}

// below returns the rows of a node's children.
func below(state State, node *tree.Node, trunk string) rows {
	var all rows
	for i, child := range node.Children {
		branch, next := "├─ ", "│  "
		if i == len(node.Children)-1 {
			branch, next = "└─ ", "   "
		}
		all = append(all, rowOf(state, child, trunk+branch, child.Title()))
		all = append(all, below(state, child, trunk+next)...)
	}
	return all
}

func rowOf(state State, node *tree.Node, branch, name string) row {
	r := row{branch: branch, name: terminal.Line(name), state: node.State, message: terminal.Line(node.Message)}
	if created := node.Object.GetCreationTimestamp(); !created.IsZero() {
		r.age = age(state.Now, created.Time)
	}
	return r
}

// Widths of the columns next to the name: the state, the age, and at least a part of the message.
const (
	stateColumns   = len(tree.Terminating) + 2
	ageColumns     = 5
	messageColumns = 20
)

// lines formats rows with aligned columns.
func (all rows) lines(width int, style Style) []string {
	longest := 0
	for _, r := range all {
		if r.note == "" {
			longest = max(longest, terminal.Width(r.branch+r.name))
		}
	}
	longest = max(10, min(longest, width-stateColumns-ageColumns-messageColumns-4))
	var lines []string
	for _, r := range all {
		lines = append(lines, r.line(longest, style))
	}
	return lines
}

func (r row) line(longest int, style Style) string {
	if r.name == "" {
		return style.dim(r.branch) + r.note
	}
	name := terminal.Pad(terminal.Cut(r.name, longest-terminal.Width(r.branch)), longest-terminal.Width(r.branch))
	text := style.dim(r.branch) + name + "  " + style.state(r.state, terminal.Pad(string(r.state), stateColumns)) + terminal.Pad(r.age, ageColumns) + r.message
	return strings.TrimRight(text, " ")
}
