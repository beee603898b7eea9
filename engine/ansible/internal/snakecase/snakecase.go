// Package snakecase converts the keys of custom resources to the names of variables, as Operator SDK's Ansible operator does.
package snakecase

import (
	"strings"
	"unicode"
)

// acronyms are words of their own wherever they occur in a key, also in the plural.
var acronyms = []string{"HTTP", "URL", "IP"}

// Keys returns a copy of a value whose keys are in snake_case, at every depth.
func Keys(value any) any {
	switch value := value.(type) {
	case map[string]any:
		converted := make(map[string]any, len(value))
		for key, item := range value {
			converted[snake(key)] = Keys(item)
		}
		return converted
	case []any:
		converted := make([]any, len(value))
		for i, item := range value {
			converted[i] = Keys(item)
		}
		return converted
	}
	return value
}

// snake converts a key to snake_case as Operator SDK does. A key that begins with a capital letter gets a leading underscore,
// unless it begins with one of the acronyms in the singular.
func snake(key string) string {
	words := split(key)
	var b strings.Builder
	for i, word := range words {
		if i > 0 || leads(key, word) {
			b.WriteByte('_')
		}
		b.WriteString(strings.ToLower(word))
	}
	return b.String()
}

// leads reports whether the first word of a key gets an underscore.
func leads(key, word string) bool {
	if strings.HasPrefix(key, "_") {
		return true
	}
	for _, acronym := range acronyms {
		if word == acronym {
			return false
		}
	}
	return unicode.IsUpper([]rune(word)[0])
}

// split splits a key into words: at separators, at acronyms, and where the case changes. A run of capital letters is one word,
// except for its last letter if a small letter follows.
func split(key string) []string {
	var words []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, string(word))
		}
		word = nil
	}
	for rest := key; rest != ""; {
		if found := acronym(rest); found != "" && !continues(word) {
			flush()
			words, rest = append(words, found), rest[len(found):]
			continue
		}
		r := []rune(rest)[0]
		next := rest[len(string(r)):]
		switch {
		case r == '_' || r == '-' || r == ' ' || r == '.':
			flush()
		case begins(word, r, next):
			flush()
			word = []rune{r}
		default:
			word = append(word, r)
		}
		rest = next
	}
	flush()
	return words
}

// acronym returns the acronym at the beginning of a text, with the s of its plural.
func acronym(text string) string {
	for _, a := range acronyms {
		if !strings.HasPrefix(text, a) {
			continue
		}
		if rest := text[len(a):]; strings.HasPrefix(rest, "s") {
			return text[:len(a)+1]
		}
		return a
	}
	return ""
}

// continues reports whether a word is a run of capital letters, of which the next letters may be a part.
func continues(word []rune) bool {
	return len(word) > 0 && unicode.IsUpper(word[len(word)-1])
}

// begins reports whether a letter begins a new word.
func begins(word []rune, r rune, next string) bool {
	if len(word) == 0 || !unicode.IsUpper(r) {
		return false
	}
	if !unicode.IsUpper(word[len(word)-1]) {
		return true
	}
	following := []rune(next)
	return len(following) > 0 && unicode.IsLower(following[0])
}
