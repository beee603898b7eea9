package makefile

import (
	"strconv"
	"strings"
	"time"
)

// Unknown replaces text in a word that only make or a shell can determine. It is a private-use character, which no Makefile
// contains.
const Unknown = '\uE000'

// root replaces the path of the Makefile's directory until the directory of the command is known, to which it is relative.
const root = "\uE001"

const (
	// budget is the maximum number of expanded references, and longest the maximum length of a value: variables that contain each
	// other many times would grow without limit.
	budget  = 1 << 16
	longest = 1 << 14
)

// fromRoot is expand for text that is relative to the Makefile's directory.
func (f *File) fromRoot(text string) string { return strings.ReplaceAll(f.expand(text, 0), root, ".") }

// expand evaluates the references in text.
func (f *File) expand(text string, depth int) string {
	var all strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || i+1 == len(text) {
			all.WriteByte(text[i])
			continue
		}
		end := closing(text, i+1)
		all.WriteString(f.reference(text[i+1:end+1], depth+1))
		i = end
	}
	if all.Len() > longest {
		return string(Unknown)
	}
	return all.String()
}

// closing returns the index of the last byte of a reference whose first byte after the dollar sign is at start.
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

// reference evaluates the text after a dollar sign: a character, or a name or a call in parentheses.
func (f *File) reference(text string, depth int) string {
	if text == "$" {
		return "$"
	}
	f.budget--
	if depth > deepest || f.budget <= 0 {
		return string(Unknown)
	}
	name := strings.TrimRight(strings.TrimLeft(text, "({"), ")}")
	if name == "CURDIR" || name == "PWD" {
		return root
	}
	if command, is := strings.CutPrefix(name, "shell "); is {
		return shell(strings.Fields(command))
	}
	value, set := f.variables[name]
	if !set && (f.incomplete || strings.ContainsAny(name, "$@<^*?+%|:, \t")) {
		return string(Unknown)
	}
	return f.expand(value, depth)
}

// shell evaluates the commands whose output is known: the current directory, the lookup of a program, and the year.
func shell(words []string) string {
	switch command := strings.Join(words, " "); {
	case command == "pwd":
		return root
	case command == "date +%Y":
		return strconv.Itoa(time.Now().Year())
	case command == "date -u +%Y":
		return strconv.Itoa(time.Now().UTC().Year())
	case len(words) > 1 && words[0] == "which":
		return words[1]
	case len(words) > 2 && words[0] == "command" && words[1] == "-v":
		return words[2]
	}
	return string(Unknown)
}
