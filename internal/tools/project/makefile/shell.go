package makefile

import (
	"regexp"
	"strings"
)

// pieces matches the tokens of a line of shell: comments, line continuations, redirections, separators, blanks, quoted text,
// substitutions and plain text.
var pieces = regexp.MustCompile(`(?s)\\\n|\\.|'[^']*'?|"(?:[^"\\]|\\.)*"?|` + substitutions + `|\d?[<>][<>&|]*|[;&|()\n]|[ \t]+|[^\\'"$` + "`" + `<>;&|()\n \t]+|.`)

const substitutions = "`[^`]*`?" + `|\$\((?:[^()]|\([^()]*\))*\)?|\$\{[^}]*\}?|\$\w*`

var (
	substitution = regexp.MustCompile(substitutions)
	escaped      = regexp.MustCompile(`\\(["\\$` + "`" + `])`)
	// before matches the words that come before a command and are not part of it.
	before = regexp.MustCompile(`^(\{|\}|!|if|then|elif|else|fi|while|until|do|done|exec|time|env|\w+=.*)$`)
)

// simpleCommands splits a line of shell into its simple commands, each with at least one word. A parenthesis is the only word of
// a command of its own.
func simpleCommands(line string) [][]string {
	s := &splitter{}
	for _, piece := range pieces.FindAllString(line, -1) {
		s.add(piece)
	}
	s.endCommand()
	return s.all
}

// splitter collects pieces into words, and words into commands.
type splitter struct {
	word     *strings.Builder // nil between words
	skipWord bool             // the word is the file name of a redirection
	comment  bool
	words    []string
	all      [][]string
}

func (s *splitter) add(piece string) {
	if s.comment = s.comment && piece != "\n"; s.comment {
		return
	}
	switch piece[0] {
	case ' ', '\t':
		s.endWord()
	case '(', ')':
		s.endCommand()
		s.all = append(s.all, []string{piece})
	case ';', '&', '|', '\n':
		s.endCommand()
	case '\'':
		s.text(strings.Trim(piece, "'"))
	case '"':
		inner := strings.TrimSuffix(piece[1:], `"`)
		s.text(escaped.ReplaceAllString(unescapedSubstitution(inner), "$1"))
	case '$', '`':
		s.text(string(Unknown))
	case '\\':
		s.text(strings.TrimPrefix(piece[1:], "\n"))
	case '#':
		if s.comment = s.word == nil; !s.comment {
			s.text(piece)
		}
	default:
		if strings.ContainsAny(piece, "<>") {
			s.endWord()
			s.skipWord = true
			return
		}
		s.text(piece)
	}
}

// unescapedSubstitution replaces the substitutions in quoted text that are not escaped by a backslash.
func unescapedSubstitution(text string) string {
	parts := strings.Split(text, `\$`)
	for i := range parts {
		parts[i] = substitution.ReplaceAllString(parts[i], string(Unknown))
	}
	return strings.Join(parts, `\$`)
}

func (s *splitter) text(text string) {
	if s.word == nil {
		s.word = &strings.Builder{}
	}
	s.word.WriteString(text)
}

func (s *splitter) endWord() {
	if s.word == nil {
		return
	}
	word := s.word.String()
	if len(s.words) == 0 {
		word = strings.TrimLeft(word, "@-+") // prefixes for make
		// So is usually what is unknown before a command, as in $(Q)cd.
		if rest := strings.TrimLeft(word, "@-+"+string(Unknown)); rest != "" && !strings.HasPrefix(rest, "/") {
			word = rest
		}
	}
	if !s.skipWord && (len(s.words) > 0 || word != "" && !before.MatchString(word)) {
		s.words = append(s.words, word)
	}
	s.word, s.skipWord = nil, false
}

func (s *splitter) endCommand() {
	s.endWord()
	if len(s.words) > 0 {
		s.all = append(s.all, s.words)
	}
	s.words, s.skipWord = nil, false
}
