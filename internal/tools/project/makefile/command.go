package makefile

import (
	"path"
	"slices"
	"strings"
)

// Command is a simple command of a recipe: a program and its arguments.
type Command struct {
	// Target is what the recipe makes.
	Target string
	// Dir is where the command runs, relative to the Makefile's folder, by the cd commands before it.
	Dir string
	// Words are the program and its arguments without their quotes, and without the variables of
	// the environment and the redirections that go with them. What nobody can know without a shell
	// is Unknown.
	Words []string
	// File and Line are where the line of the recipe begins.
	File string
	Line int
}

// Commands are the commands of all recipes, in the order in which they are written.
func (f *File) Commands() []Command {
	f.budget = budget
	var all []Command
	for _, rule := range f.rules {
		for _, target := range rule.targets {
			for _, line := range rule.recipe {
				all = append(all, f.commands(rule, target, line)...)
			}
		}
	}
	return all
}

// Needs tells whether making the target makes the other one first, or is making it.
func (f *File) Needs(target, other string) bool {
	seen := map[string]bool{target: true}
	for queue := []string{target}; len(queue) > 0; queue = queue[1:] {
		if queue[0] == other {
			return true
		}
		for _, rule := range f.rules {
			if !slices.Contains(rule.targets, queue[0]) {
				continue
			}
			for _, need := range rule.needs {
				if !seen[need] {
					seen[need] = true
					queue = append(queue, need)
				}
			}
		}
	}
	return false
}

// Value is what a variable holds in the end, and whether anything sets it. What nobody can know without a
// shell is Unknown.
func (f *File) Value(name string) (string, bool) {
	_, set := f.variables[name]
	return f.value(name, scope{}), set
}

func (f *File) commands(rule *rule, target string, line recipeLine) []Command {
	text := f.expand(line.text, scope{own: f.ownOf(rule, target)})
	var all []Command
	dir := "."
	for _, words := range simpleCommands(text) {
		if words[0] == "cd" {
			dir = changed(dir, words)
			continue
		}
		all = append(all, Command{Target: target, Dir: dir, Words: words, File: line.file, Line: line.line})
	}
	return all
}

// ownOf are the variables that only this target's recipe has.
func (f *File) ownOf(rule *rule, target string) map[string]variable {
	first := ""
	if len(rule.needs) > 0 {
		first = rule.needs[0]
	}
	own := map[string]variable{
		"@": {text: target, simple: true}, "<": {text: first, simple: true}, "^": {text: strings.Join(rule.needs, " "), simple: true},
	}
	for name, held := range f.defined[target] {
		own[name] = held
	}
	return own
}

// changed is where one is after cd.
func changed(dir string, words []string) string {
	if len(words) != 2 || words[1] == "-" || path.IsAbs(words[1]) || strings.ContainsRune(words[1], Unknown) {
		return string(Unknown)
	}
	return path.Join(dir, words[1])
}
