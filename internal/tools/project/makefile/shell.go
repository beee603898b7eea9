package makefile

import "strings"

// simpleCommands takes a line for the shell apart into its simple commands, each with one word at least.
func simpleCommands(line string) [][]string {
	s := &shell{text: []rune(line)}
	for s.at < len(s.text) {
		s.next()
	}
	s.endCommand()
	return s.all
}

// shell is the state of taking a line apart.
type shell struct {
	text   []rune
	at     int
	word   []rune
	inWord bool
	skip   bool // the word is a redirection's
	words  []string
	all    [][]string
}

// next takes in one character, or a quoted text, or an operator.
func (s *shell) next() {
	r := s.text[s.at]
	s.at++
	switch {
	case r == '\\':
		s.escaped()
	case r == '\'':
		s.singleQuoted()
	case r == '"':
		s.doubleQuoted()
	case r == '$' || r == '`':
		s.substitution(r)
	case r == ' ' || r == '\t':
		s.endWord()
	case r == '#' && !s.inWord:
		for s.at < len(s.text) && s.text[s.at] != '\n' {
			s.at++
		}
	case r == '>' || r == '<':
		s.redirection()
	case strings.ContainsRune(";&|()\n", r):
		s.endCommand()
	default:
		s.add(r)
	}
}

// escaped takes in what follows a backslash; at the end of a line that is nothing.
func (s *shell) escaped() {
	if s.at == len(s.text) {
		return
	}
	if s.text[s.at] != '\n' {
		s.add(s.text[s.at])
	}
	s.at++
}

func (s *shell) add(r rune) {
	s.word = append(s.word, r)
	s.inWord = true
}

func (s *shell) singleQuoted() {
	s.inWord = true
	for s.at < len(s.text) && s.text[s.at] != '\'' {
		s.add(s.text[s.at])
		s.at++
	}
	s.at++
}

func (s *shell) doubleQuoted() {
	s.inWord = true
	for s.at < len(s.text) && s.text[s.at] != '"' {
		r := s.text[s.at]
		s.at++
		switch {
		case r == '\\' && s.at < len(s.text) && strings.ContainsRune("\"\\$`", s.text[s.at]):
			s.add(s.text[s.at])
			s.at++
		case r == '$' || r == '`':
			s.substitution(r)
		default:
			s.add(r)
		}
	}
	s.at++
}

// substitution takes in a variable of the shell, or the output of a command.
func (s *shell) substitution(r rune) {
	s.add(Unknown)
	if r == '`' {
		s.past('`')
		return
	}
	if s.at == len(s.text) {
		return
	}
	switch s.text[s.at] {
	case '(':
		s.past(')')
	case '{':
		s.past('}')
	default:
		for s.at < len(s.text) && named(s.text[s.at]) {
			s.at++
		}
	}
}

func named(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// past goes on behind the next rune of that sort.
func (s *shell) past(end rune) {
	for s.at < len(s.text) && s.text[s.at] != end {
		s.at++
	}
	s.at++
}

// redirection drops the number before it and the file after it.
func (s *shell) redirection() {
	if len(s.word) == 1 && s.word[0] >= '0' && s.word[0] <= '9' {
		s.word, s.inWord = nil, false
	}
	s.endWord()
	for s.at < len(s.text) && strings.ContainsRune("><&|", s.text[s.at]) {
		s.at++
	}
	s.skip = true
}

func (s *shell) endWord() {
	word := string(s.word)
	if len(s.words) == 0 {
		word = strings.TrimLeft(word, "@-+") // make's own, which say how it is to run the command
	}
	if s.inWord && !s.skip && (len(s.words) > 0 || word != "" && !precedes(word)) {
		s.words = append(s.words, word)
	}
	if s.inWord {
		s.skip = false
	}
	s.word, s.inWord = nil, false
}

func (s *shell) endCommand() {
	s.endWord()
	if len(s.words) > 0 {
		s.all = append(s.all, s.words)
	}
	s.words, s.skip = nil, false
}

// precedes: such words come before a command and are no part of it.
func precedes(word string) bool {
	switch word {
	case "{", "}", "!", "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "exec", "time", "env":
		return true
	}
	name, _, assigns := strings.Cut(word, "=")
	return assigns && name != "" && !strings.ContainsFunc(name, func(r rune) bool { return !named(r) })
}
