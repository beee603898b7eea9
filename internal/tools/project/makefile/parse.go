package makefile

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// File is a Makefile, including the files that it includes.
type File struct {
	// Names are the names of the files that were read: the Makefile, and those that it includes.
	Names []string

	text       strings.Builder
	variables  map[string]string // values before expansion
	rules      []*rule
	budget     int  // the number of references that may still be expanded
	incomplete bool // a file that may set variables could not be read
}

// rule is a set of targets with their prerequisites and recipe.
type rule struct {
	targets, needs []string
	recipe         []recipeLine
}

type recipeLine struct {
	text, file  string
	line        int
	conditional bool
}

// deepest is the maximum nesting of includes, and of variables within variables.
const deepest = 20

// Parse reads a Makefile. The name is used in positions. The function include reads the file in an include line; if it
// returns an error, the file is skipped, and variables that are not set are [Unknown], unless the file is optional and does
// not exist.
func Parse(name string, content []byte, include func(string) ([]byte, error)) (*File, error) {
	f := &File{variables: map[string]string{}, budget: budget}
	return f, f.read(name, string(content), include, 0)
}

// reader reads one file.
type reader struct {
	*File
	name    string
	lines   []string
	at      int   // index of the next line
	inside  []int // lines at which the surrounding conditions begin
	under   *rule // the rule to which a line with a tab belongs
	depth   int
	include func(string) ([]byte, error)
}

func (f *File) read(name, content string, include func(string) ([]byte, error), depth int) error {
	content = strings.ReplaceAll(content, "\r\n", "\n")
	f.Names = append(f.Names, name)
	f.text.WriteString(content + "\n")
	r := &reader{File: f, name: name, lines: strings.Split(content, "\n"), depth: depth, include: include}
	for r.at < len(r.lines) {
		if err := r.step(); err != nil {
			return err
		}
	}
	if len(r.inside) > 0 {
		return fmt.Errorf("%s:%d: the condition that begins here has no endif", name, r.inside[len(r.inside)-1])
	}
	return nil
}

// step reads one line and its continuation lines.
func (r *reader) step() error {
	line := r.at + 1
	if one, is := strings.CutPrefix(r.lines[r.at], "\t"); is && r.under != nil {
		r.lines[r.at] = one
		r.recipe(r.joined("", "\t"), line)
		return nil
	}
	text, _, _ := strings.Cut(r.joined(" ", " \t"), "#")
	if text = strings.TrimSpace(text); text == "" {
		return nil // an empty line or a comment does not end a recipe
	}
	word, rest, _ := strings.Cut(strings.ReplaceAll(text, "\t", " "), " ")
	switch word {
	case "ifeq", "ifneq", "ifdef", "ifndef":
		r.inside = append(r.inside, line)
	case "else", "endif":
		if len(r.inside) == 0 {
			return fmt.Errorf("%s:%d: %s without a condition", r.name, line, word)
		}
		if word == "endif" {
			r.inside = r.inside[:len(r.inside)-1]
		}
	case "define":
		return r.skipDefine(rest, line)
	case "include", "-include", "sinclude":
		return r.includeAll(rest, word != "include")
	case "export", "override", "private":
		r.assign(rest)
	default:
		if !r.assign(text) {
			r.rule(text, line)
		}
	}
	return nil
}

// joined returns the next line joined with its continuation lines, each without the leading characters in cut.
func (r *reader) joined(between, cut string) string {
	var text strings.Builder
	for r.at < len(r.lines) {
		head, continues := strings.CutSuffix(r.lines[r.at], "\\")
		r.at++
		text.WriteString(head)
		if !continues {
			break
		}
		text.WriteString(between)
		if r.at < len(r.lines) {
			r.lines[r.at] = strings.TrimLeft(r.lines[r.at], cut)
		}
	}
	return text.String()
}

func (r *reader) recipe(text string, line int) {
	r.under.recipe = append(r.under.recipe, recipeLine{text: text, file: r.name, line: line, conditional: len(r.inside) > 0})
}

// skipDefine skips a multi-line variable.
func (r *reader) skipDefine(head string, line int) error {
	if name := strings.Fields(head); len(name) > 0 {
		r.variables[name[0]] = string(Unknown)
	}
	for ; r.at < len(r.lines); r.at++ {
		if strings.TrimSpace(r.lines[r.at]) == "endef" {
			r.at++
			return nil
		}
	}
	return fmt.Errorf("%s:%d: the define that begins here has no endef", r.name, line)
}

func (r *reader) includeAll(names string, optional bool) error {
	r.under = nil
	for _, name := range strings.Fields(r.fromRoot(names)) {
		content, err := r.include(name)
		if err != nil || r.depth >= deepest || r.budget <= 0 {
			missing := errors.Is(err, fs.ErrNotExist) && !strings.ContainsRune(name, Unknown)
			r.incomplete = r.incomplete || !optional || !missing
			continue
		}
		r.budget -= 1 + len(content)
		if err := r.read(name, string(content), r.include, r.depth+1); err != nil {
			return err
		}
	}
	return nil
}

// assign reads a line that sets a variable, and reports whether the line does so.
func (r *reader) assign(text string) bool {
	name, operator, value, is := assignment(text)
	if !is {
		return false
	}
	r.under = nil
	now, known := r.variables[name]
	switch operator {
	case ":":
		value = strings.ReplaceAll(r.expand(value, 0), "$", "$$")
	case "+":
		if value = strings.TrimSpace(now + " " + value); !known && r.incomplete {
			value = string(Unknown)
		}
	case "?":
		if known {
			return true
		}
	}
	if operator == "!" || len(value) > longest || len(r.inside) > 0 && (!known || now != value) {
		value = string(Unknown)
	}
	r.variables[name] = value
	return true
}

// assignment splits a line that assigns to a variable. It returns the operator without its equals sign, reduced to one
// character.
func assignment(text string) (name, operator, value string, is bool) {
	left, value, is := strings.Cut(text, "=")
	name = strings.TrimRight(left, ":?+!")
	if name != left {
		operator = left[len(name) : len(name)+1]
	}
	name = strings.TrimSpace(name)
	return name, operator, strings.TrimSpace(value), is && name != "" && !strings.ContainsAny(name, ":$;# \t")
}

// rule reads a line that names targets and their prerequisites, or a target-specific variable.
func (r *reader) rule(text string, line int) {
	r.under = nil
	colon := outside(text, ':')
	if colon < 0 {
		return
	}
	rest := strings.TrimLeft(text[colon:], ":")
	own := strings.TrimSpace(rest)
	for _, word := range []string{"export ", "override ", "private "} {
		own = strings.TrimPrefix(own, word)
	}
	if name, _, _, assigns := assignment(own); assigns {
		r.variables[name] = string(Unknown) // it differs between targets
		return
	}
	needs, command, _ := strings.Cut(rest, ";")
	r.under = &rule{
		targets: strings.Fields(r.fromRoot(strings.TrimRight(text[:colon], "&"))),
		needs:   strings.Fields(strings.ReplaceAll(r.fromRoot(needs), "|", " ")),
	}
	r.rules = append(r.rules, r.under)
	if command != "" {
		r.recipe(command, line)
	}
}

// outside returns the index of a byte outside of references to variables, or -1 if there is none.
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
