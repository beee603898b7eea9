package makefile

import (
	"fmt"
	"strings"
)

// File is a Makefile that was read, with what it includes.
type File struct {
	variables map[string]variable
	rules     []*rule
	defined   map[string]map[string]variable // the variables of a target
	budget    int
}

// variable is a variable's value, as it is written unless it was evaluated at once.
type variable struct {
	text   string
	simple bool
}

// rule is a target with what it takes to make it.
type rule struct {
	targets, needs []string
	recipe         []recipeLine
}

type recipeLine struct {
	text string
	file string
	line int
}

// budget bounds what evaluation may produce, in bytes: variables that hold each other many times over
// would grow without end.
const budget = 1 << 20

// deepest bounds how far includes, and variables within variables, go.
const deepest = 40

// Parse reads a Makefile. Name is what it is called in places. Include reads the file that an include line
// names; a file that it has an error for is as empty.
func Parse(name string, content []byte, include func(string) ([]byte, error)) (*File, error) {
	f := &File{variables: map[string]variable{}, defined: map[string]map[string]variable{}, budget: budget}
	return f, f.read(name, string(content), include, 0)
}

// reader is the state of reading one file.
type reader struct {
	*File
	name    string
	lines   []string
	at      int // the next line, from 0
	depth   int
	include func(string) ([]byte, error)
	under   *rule // whose recipe a line with a tab belongs to
	inside  []condition
}

func (f *File) read(name, content string, include func(string) ([]byte, error), depth int) error {
	r := &reader{File: f, name: name, lines: strings.Split(strings.ReplaceAll(content, "\r\n", "\n"), "\n"), depth: depth, include: include}
	for r.at < len(r.lines) {
		if err := r.step(); err != nil {
			return err
		}
	}
	if len(r.inside) > 0 {
		return fmt.Errorf("%s:%d: the condition that begins here has no endif", name, r.inside[len(r.inside)-1].line)
	}
	return nil
}

// step reads one logical line.
func (r *reader) step() error {
	if strings.HasPrefix(r.lines[r.at], "\t") && r.under != nil {
		r.recipe()
		return nil
	}
	line := r.at + 1
	text := r.logical()
	word, rest := firstWord(text)
	if done, err := r.conditional(word, rest, line); done || err != nil {
		return err
	}
	if !r.active() {
		if word == "define" {
			_, err := r.body(line)
			return err
		}
		return nil
	}
	return r.statement(word, rest, text, line)
}

// recipe takes a line of a recipe, with those that continue it.
func (r *reader) recipe() {
	line := r.at + 1
	var text strings.Builder
	for r.at < len(r.lines) {
		one := strings.TrimPrefix(r.lines[r.at], "\t")
		r.at++
		head, continues := strings.CutSuffix(one, "\\")
		text.WriteString(head)
		if !continues {
			break
		}
	}
	if r.active() {
		r.under.recipe = append(r.under.recipe, recipeLine{text: text.String(), file: r.name, line: line})
	}
}

// logical takes a line that is not of a recipe, with those that continue it, without its comment.
func (r *reader) logical() string {
	var text strings.Builder
	for r.at < len(r.lines) {
		one := r.lines[r.at]
		r.at++
		head, continues := strings.CutSuffix(one, "\\")
		if !continues || strings.HasSuffix(head, "\\") {
			text.WriteString(one)
			break
		}
		text.WriteString(strings.TrimRight(head, " \t") + " ")
		if r.at < len(r.lines) {
			r.lines[r.at] = strings.TrimLeft(r.lines[r.at], " \t")
		}
	}
	return strings.TrimSpace(withoutComment(text.String()))
}

func withoutComment(text string) string {
	for i := range len(text) {
		if text[i] == '#' && (i == 0 || text[i-1] != '\\') {
			return text[:i]
		}
	}
	return text
}

func firstWord(text string) (word, rest string) {
	end := strings.IndexAny(text, " \t")
	if end < 0 {
		return text, ""
	}
	return text[:end], strings.TrimSpace(text[end:])
}

// statement takes what is no condition.
func (r *reader) statement(word, rest, text string, line int) error {
	switch word {
	case "":
		return nil
	case "define":
		return r.define(rest, line)
	case "include", "-include", "sinclude":
		r.under = nil
		return r.includeAll(rest)
	case "export", "override", "private":
		r.assigns(rest)
		return nil
	case "unexport", "vpath", "undefine":
		return nil
	}
	if !r.assigns(text) {
		r.rule(text, line)
	}
	return nil
}

// assigns takes a line that sets a variable, and tells whether it is one.
func (r *reader) assigns(text string) bool {
	name, operator, value, is := assignment(text)
	if !is {
		return false
	}
	r.under = nil
	r.assign(r.variables, r.expand(name, scope{}), operator, value)
	return true
}

func (r *reader) includeAll(names string) error {
	for _, name := range strings.Fields(r.expand(names, scope{})) {
		content, err := r.include(name)
		if err != nil || r.depth >= deepest || r.budget <= 0 {
			continue
		}
		r.budget -= len(content)
		if err := r.read(name, string(content), r.include, r.depth+1); err != nil {
			return err
		}
	}
	return nil
}

// define takes a variable of several lines.
func (r *reader) define(head string, line int) error {
	name, operator, _, assigns := assignment(head)
	if !assigns {
		name, operator = head, "="
	}
	body, err := r.body(line)
	if err != nil {
		return err
	}
	r.assign(r.variables, strings.TrimSpace(r.expand(name, scope{})), operator, body)
	return nil
}

// body takes the lines until endef.
func (r *reader) body(line int) (string, error) {
	var body []string
	for nested := 0; r.at < len(r.lines); r.at++ {
		word, _ := firstWord(strings.TrimSpace(r.lines[r.at]))
		switch {
		case word == "define":
			nested++
		case word == "endef" && nested == 0:
			r.at++
			return strings.Join(body, "\n"), nil
		case word == "endef":
			nested--
		}
		body = append(body, r.lines[r.at])
	}
	return "", fmt.Errorf("%s:%d: the define that begins here has no endef", r.name, line)
}

// assignment takes a line apart that assigns to a variable.
func assignment(text string) (name, operator, value string, assigns bool) {
	for i := 0; i < len(text); i++ {
		if text[i] == '$' && i+1 < len(text) {
			i = closing(text, i+1)
			continue
		}
		for _, operator := range []string{":::=", "::=", ":=", "?=", "+=", "!=", "="} {
			if strings.HasPrefix(text[i:], operator) {
				name := strings.TrimSpace(text[:i])
				is := name != "" && (strings.Contains(name, "$") || !strings.ContainsAny(name, " \t;"))
				return name, operator, strings.TrimSpace(text[i+len(operator):]), is
			}
		}
		if text[i] == ':' {
			return "", "", "", false
		}
	}
	return "", "", "", false
}

func (r *reader) assign(into map[string]variable, name, operator, value string) {
	now, known := into[name]
	if !known {
		now, known = r.variables[name]
	}
	set := variable{text: value}
	switch operator {
	case ":=", "::=", ":::=":
		set.text, set.simple = r.expand(value, scope{}), true
	case "!=":
		set.text, set.simple = string(Unknown), true
	case "?=":
		if known {
			return
		}
	case "+=":
		if !known {
			break
		}
		if now.simple {
			value = r.expand(value, scope{})
		}
		set.text, set.simple = strings.TrimSpace(now.text+" "+value), now.simple
		r.budget -= len(set.text)
		if r.budget <= 0 {
			set.text = string(Unknown)
		}
	}
	into[name] = set
}

// rule takes a line that names targets, and what they need or a variable of theirs.
func (r *reader) rule(text string, line int) {
	r.under = nil
	colon := outside(text, ':')
	if colon < 0 {
		return
	}
	targets := strings.Fields(r.expand(strings.TrimRight(text[:colon], "&"), scope{}))
	rest := strings.TrimLeft(text[colon:], ":")
	own := strings.TrimSpace(rest)
	for _, word := range []string{"export ", "override ", "private "} {
		own = strings.TrimPrefix(own, word)
	}
	if name, operator, value, assigns := assignment(own); assigns {
		r.assignFor(targets, name, operator, value)
		return
	}
	needs, command, _ := strings.Cut(rest, ";")
	made := &rule{targets: targets, needs: strings.Fields(strings.ReplaceAll(r.expand(needs, scope{}), "|", " "))}
	if command != "" {
		made.recipe = append(made.recipe, recipeLine{text: command, file: r.name, line: line})
	}
	r.under = made
	r.rules = append(r.rules, made)
}

func (r *reader) assignFor(targets []string, name, operator, value string) {
	for _, target := range targets {
		if r.defined[target] == nil {
			r.defined[target] = map[string]variable{}
		}
		r.assign(r.defined[target], r.expand(name, scope{}), operator, value)
	}
}

// outside finds a byte that is in no reference to a variable.
func outside(text string, wanted byte) int {
	for i := 0; i < len(text); i++ {
		if text[i] == '$' && i+1 < len(text) {
			i = closing(text, i+1)
			continue
		}
		if text[i] == wanted {
			return i
		}
	}
	return -1
}
