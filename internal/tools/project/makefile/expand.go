package makefile

import (
	"strconv"
	"strings"
)

// Unknown stands in a word for what only a shell could tell. No text has it otherwise: it is a
// character for private use.
const Unknown = '\uE000'

// scope is where an expansion happens.
type scope struct {
	own   map[string]variable // variables that only this target or this call has
	depth int
}

// deeper is the scope of what stands within.
func (s scope) deeper() scope { return scope{own: s.own, depth: s.depth + 1} }

// expand evaluates the references in text.
func (f *File) expand(text string, in scope) string {
	if !strings.Contains(text, "$") {
		return text
	}
	var all strings.Builder
	for i := 0; i < len(text); i++ {
		if f.budget -= 1; f.budget <= 0 {
			return string(Unknown)
		}
		if text[i] != '$' || i+1 == len(text) {
			all.WriteByte(text[i])
			continue
		}
		end := closing(text, i+1)
		all.WriteString(f.reference(text[i+1:min(end+1, len(text))], in))
		i = end
	}
	return all.String()
}

// closing is where a reference ends whose first byte after the dollar sign is at start.
func closing(text string, start int) int {
	opens, closes := text[start], byte(')')
	switch opens {
	case '(':
	case '{':
		closes = '}'
	default:
		return start
	}
	depth := 0
	for i := start; i < len(text); i++ {
		switch text[i] {
		case opens:
			depth++
		case closes:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(text) - 1
}

// reference evaluates what follows a dollar sign: a letter, or a name or a call in parentheses.
func (f *File) reference(text string, in scope) string {
	if text == "$" {
		return "$"
	}
	if in.depth > deepest {
		return string(Unknown)
	}
	if text[0] != '(' && text[0] != '{' {
		return f.value(text, in)
	}
	inner := text[1:]
	if last := len(inner) - 1; last >= 0 && (inner[last] == ')' || inner[last] == '}') {
		inner = inner[:last]
	}
	if name, arguments, called := strings.Cut(inner, " "); called && functions[name] != nil {
		return functions[name](f, strings.TrimSpace(arguments), in.deeper())
	}
	name := f.expand(inner, in.deeper())
	if base, pattern, substitutes := strings.Cut(name, ":"); substitutes {
		return f.substituted(base, pattern, in)
	}
	return f.value(name, in)
}

// value is what a variable holds.
func (f *File) value(name string, in scope) string {
	if name == "CURDIR" || name == "PWD" {
		return "."
	}
	held, ok := in.own[name]
	if !ok {
		held, ok = f.variables[name]
	}
	if !ok && (strings.ContainsRune(name, Unknown) || strings.ContainsAny(name, "@<^*?+%| \t")) {
		return string(Unknown)
	}
	if held.simple {
		if f.budget -= len(held.text); f.budget <= 0 {
			return string(Unknown)
		}
		return held.text
	}
	return f.expand(held.text, in.deeper())
}

// substituted is a variable whose words' ends are replaced: $(X:.a=.b).
func (f *File) substituted(name, pattern string, in scope) string {
	from, to, ok := strings.Cut(pattern, "=")
	if !ok || strings.Contains(pattern, "%") {
		return string(Unknown)
	}
	words := strings.Fields(f.value(name, in))
	for i, word := range words {
		if head, has := strings.CutSuffix(word, from); has {
			words[i] = head + to
		}
	}
	return strings.Join(words, " ")
}

// functions are those that can be told without a shell.
var functions map[string]func(f *File, arguments string, in scope) string

func init() {
	functions = map[string]func(f *File, arguments string, in scope) string{
		"shell": (*File).shell, "call": (*File).call, "strip": (*File).strip,
		"abspath": (*File).strip, "realpath": (*File).strip,
		"addprefix": (*File).addPrefix, "addsuffix": (*File).addSuffix,
		"or": (*File).or, "and": unknown, "if": (*File).choose, "foreach": unknown, "subst": (*File).replace, "patsubst": unknown,
		"wildcard": unknown, "filter": unknown, "filter-out": unknown, "sort": unknown, "word": unknown, "words": unknown, "wordlist": unknown,
		"firstword": unknown, "lastword": unknown, "dir": unknown, "notdir": unknown, "suffix": unknown, "basename": unknown, "join": unknown,
		"eval": nothing, "info": nothing, "warning": nothing, "error": nothing, "value": unknown, "origin": unknown, "flavor": unknown, "file": unknown, "findstring": unknown,
	}
}

func unknown(*File, string, scope) string { return string(Unknown) }

func nothing(*File, string, scope) string { return "" }

// shell knows where one is, and what a program is called that is looked up by name.
func (f *File) shell(command string, in scope) string {
	words := strings.Fields(f.expand(command, in))
	switch {
	case len(words) == 1 && words[0] == "pwd":
		return "."
	case len(words) > 1 && words[0] == "which":
		return words[1]
	case len(words) > 2 && words[0] == "command" && words[1] == "-v":
		return words[2]
	}
	return string(Unknown)
}

// call evaluates a variable with arguments $1, $2 and so on.
func (f *File) call(text string, in scope) string {
	arguments := splitArguments(text)
	own := map[string]variable{}
	for name, held := range in.own {
		own[name] = held
	}
	for i, each := range arguments {
		own[strconv.Itoa(i)] = variable{text: f.expand(each, in), simple: true}
	}
	return f.value(strings.TrimSpace(own["0"].text), scope{own: own, depth: in.depth + 1})
}

func (f *File) strip(text string, in scope) string {
	return strings.Join(strings.Fields(f.expand(text, in)), " ")
}

func (f *File) addPrefix(text string, in scope) string {
	return f.each(text, in, func(affix, word string) string { return affix + word })
}

func (f *File) addSuffix(text string, in scope) string {
	return f.each(text, in, func(affix, word string) string { return word + affix })
}

func (f *File) each(text string, in scope, change func(affix, word string) string) string {
	affix, list, ok := strings.Cut(text, ",")
	if !ok {
		return string(Unknown)
	}
	affix = f.expand(affix, in)
	words := strings.Fields(f.expand(list, in))
	for i, word := range words {
		words[i] = change(affix, word)
	}
	all := strings.Join(words, " ")
	f.budget -= len(all)
	return all
}

func (f *File) or(text string, in scope) string {
	for _, each := range splitArguments(text) {
		if value := strings.TrimSpace(f.expand(each, in)); value != "" {
			return value
		}
	}
	return ""
}

func (f *File) choose(text string, in scope) string {
	arguments := append(splitArguments(text), "", "")
	condition := strings.TrimSpace(f.expand(strings.TrimSpace(arguments[0]), in))
	if strings.ContainsRune(condition, Unknown) {
		return condition
	}
	if condition != "" {
		return f.expand(arguments[1], in)
	}
	return f.expand(arguments[2], in)
}

func (f *File) replace(text string, in scope) string {
	arguments := splitArguments(text)
	if len(arguments) < 3 {
		return string(Unknown)
	}
	from, to := f.expand(arguments[0], in), f.expand(arguments[1], in)
	list := f.expand(strings.Join(arguments[2:], ","), in)
	if from == "" {
		return list + to
	}
	if f.budget -= strings.Count(list, from) * len(to); f.budget <= 0 {
		return string(Unknown)
	}
	return strings.ReplaceAll(list, from, to)
}

// splitArguments splits a call's arguments at commas that are in no reference.
func splitArguments(text string) []string {
	var all []string
	for {
		comma := outside(text, ',')
		if comma < 0 {
			return append(all, text)
		}
		all = append(all, text[:comma])
		text = text[comma+1:]
	}
}
