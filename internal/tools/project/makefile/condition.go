package makefile

import (
	"fmt"
	"strings"
)

// condition is a conditional part that is being read.
type condition struct {
	line  int
	holds bool // this branch counts
	taken bool // a branch before it, or it, counted
}

// active tells whether what is read now counts.
func (r *reader) active() bool {
	for _, one := range r.inside {
		if !one.holds {
			return false
		}
	}
	return true
}

// conditional takes the lines that begin, turn and end conditions.
func (r *reader) conditional(word, rest string, line int) (done bool, err error) {
	switch word {
	case "ifeq", "ifneq", "ifdef", "ifndef":
		holds := r.active() && r.holds(word, rest)
		r.inside = append(r.inside, condition{line: line, holds: holds, taken: holds})
		return true, nil
	case "else":
		return true, r.otherwise(rest, line)
	case "endif":
		if len(r.inside) == 0 {
			return true, fmt.Errorf("%s:%d: endif without a condition", r.name, line)
		}
		r.inside = r.inside[:len(r.inside)-1]
		return true, nil
	}
	return false, nil
}

func (r *reader) otherwise(rest string, line int) error {
	if len(r.inside) == 0 {
		return fmt.Errorf("%s:%d: else without a condition", r.name, line)
	}
	last := &r.inside[len(r.inside)-1]
	last.holds = false
	if last.taken {
		return nil
	}
	outer := r.inside
	r.inside = outer[:len(outer)-1]
	word, condition := firstWord(rest)
	holds := r.active() && (word == "" || r.holds(word, condition))
	r.inside = outer
	last.holds, last.taken = holds, holds
	return nil
}

// holds tells whether a condition is met, as one that nobody can know is.
func (r *reader) holds(word, rest string) bool {
	if word == "ifdef" || word == "ifndef" {
		value := r.variables[strings.TrimSpace(r.expand(rest, scope{}))].text
		return strings.ContainsRune(value, Unknown) || (value != "") == (word == "ifdef")
	}
	left, right, ok := sides(rest)
	if !ok || strings.Contains(rest, "$(shell ") {
		return true
	}
	left, right = r.expand(left, scope{}), r.expand(right, scope{})
	if strings.ContainsRune(left+right, Unknown) {
		return true
	}
	return (strings.TrimSpace(left) == strings.TrimSpace(right)) == (word == "ifeq")
}

// sides takes (a,b), "a" "b" and 'a' 'b' apart.
func sides(text string) (left, right string, ok bool) {
	if inner, parenthesized := strings.CutPrefix(text, "("); parenthesized {
		inner = strings.TrimSuffix(strings.TrimSpace(inner), ")")
		comma := outside(inner, ',')
		if comma < 0 {
			return "", "", false
		}
		return inner[:comma], inner[comma+1:], true
	}
	left, rest, ok := quoted(text)
	if !ok {
		return "", "", false
	}
	right, _, ok = quoted(rest)
	return left, right, ok
}

// quoted takes a text in quotes off the front.
func quoted(text string) (inner, rest string, ok bool) {
	text = strings.TrimSpace(text)
	if text == "" || text[0] != '"' && text[0] != '\'' {
		return "", "", false
	}
	return strings.Cut(text[1:], text[:1])
}
