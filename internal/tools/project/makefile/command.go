package makefile

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Command is a simple command of a recipe: a program and its arguments.
type Command struct {
	// Target is the target of the recipe.
	Target string
	// Dir is the working directory of the command, relative to the Makefile's directory, after the cd commands before it and the
	// flag -C of the go command, which is not among Words.
	Dir string
	// Words are the program and its arguments, unquoted, without environment variables and redirections.
	Words []string
	// File and Line are the place at which the line of the recipe begins.
	File string
	Line int
	// Conditional reports whether the line depends on a condition of the Makefile.
	Conditional bool
}

// Commands returns the commands of all recipes, in the order in which they are written.
func (f *File) Commands() []Command {
	f.budget = budget
	var all []Command
	for _, rule := range f.rules {
		for _, target := range rule.targets {
			for _, line := range rule.recipe {
				all = append(all, f.commands(target, line)...)
			}
		}
	}
	return all
}

func (f *File) commands(target string, line recipeLine) []Command {
	var all []Command
	var outside []string // the directories outside of subshells
	dir := "."
	for _, words := range simpleCommands(f.expand(line.text, 0)) {
		at := dir
		if i := slices.Index(words, "-C"); path.Base(words[0]) == "go" && (i == 1 || i == 2) && i+1 < len(words) {
			at = changed(dir, []string{"cd", strings.ReplaceAll(words[i+1], root, back(dir))})
			words = slices.Delete(words, i, i+2)
		}
		for i, word := range words {
			words[i] = strings.ReplaceAll(word, root, back(at))
		}
		switch words[0] {
		case "(":
			outside = append(outside, dir)
		case ")":
			if last := len(outside) - 1; last >= 0 {
				dir, outside = outside[last], outside[:last]
			}
		case "cd":
			dir = changed(dir, words)
		default:
			all = append(all, Command{Target: target, Dir: at, Words: words, File: line.file, Line: line.line, Conditional: line.conditional})
		}
	}
	return all
}

// back returns the path from a directory to the Makefile's.
func back(dir string) string {
	up, err := filepath.Rel(dir, ".")
	if err != nil || strings.ContainsRune(dir, Unknown) {
		return string(Unknown)
	}
	return filepath.ToSlash(up)
}

// changed returns the directory after cd.
func changed(dir string, words []string) string {
	if len(words) != 2 || words[1] == "-" || path.IsAbs(words[1]) || strings.ContainsRune(words[1], Unknown) {
		return string(Unknown)
	}
	return path.Join(dir, words[1])
}

// Needs reports whether target needs other, directly or indirectly, or is the same.
func (f *File) Needs(target, other string) bool {
	seen := []string{target}
	for i := 0; i < len(seen); i++ {
		if seen[i] == other {
			return true
		}
		for _, rule := range f.rules {
			if !slices.Contains(rule.targets, seen[i]) {
				continue
			}
			for _, need := range rule.needs {
				if !slices.Contains(seen, need) {
					seen = append(seen, need)
				}
			}
		}
	}
	return false
}

// Find returns the expanded text of the groups of all matches of a pattern in the Makefile.
func (f *File) Find(pattern *regexp.Regexp) []string {
	var found []string
	for _, match := range pattern.FindAllStringSubmatch(f.text.String(), -1) {
		found = append(found, f.fromRoot(strings.Join(match[1:], "")))
	}
	return found
}
