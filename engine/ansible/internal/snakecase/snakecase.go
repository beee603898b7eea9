// Package snakecase converts the keys of custom resources to the names of variables, as Operator SDK's Ansible operator does.
package snakecase

import (
	"regexp"
	"slices"
	"strings"
)

// acronyms are words of their own where they first occur in a key, also in the plural.
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

// alternating matches digits between letters, if further digits follow.
var alternating = regexp.MustCompile(`([a-zA-Z])([0-9]+)([a-zA-Z][0-9]+)`)

// snake converts a key to snake_case as Operator SDK does, whose users rely on each of its peculiarities. A key that begins with a capital letter gets
// a leading underscore, unless its first word is one of the acronyms.
func snake(key string) string {
	key = strings.Trim(alternating.ReplaceAllString(key, "$1 $2 $3"), " ")
	if key == "" {
		return ""
	}
	marked := key
	if strings.ToUpper(key) != key {
		for _, acronym := range acronyms {
			marked = isolate(marked, acronym)
		}
	}
	words := split(marked)
	converted := strings.ToLower(strings.Join(words, "_"))
	if isUpper(key[0]) && !slices.Contains(acronyms, strings.ToUpper(words[0])) {
		return "_" + converted
	}
	return converted
}

// isolate separates an acronym from the rest of a text. The s of a plural becomes a part of it.
func isolate(text, acronym string) string {
	before, after, found := strings.Cut(text, acronym)
	if !found {
		return text
	}
	if rest, plural := strings.CutPrefix(after, "s"); plural {
		acronym, after = acronym+"S", rest
	}
	if before != "" || after == "" {
		acronym = "_" + acronym
	}
	if after != "" {
		acronym += "_"
	}
	return before + acronym + after
}

// split splits a text into words: at each separator, and where the case changes. A run of capital letters is one word, except for its last letter if a
// small letter follows.
func split(text string) []string {
	var words []string
	word := ""
	for i, r := range text {
		letter := string(r)
		capital, ends := isUpper(letter[0]), false
		if i+1 < len(text) && word != "" {
			next := text[i+1]
			ends = capital && isLower(next) || isLower(letter[0]) && isUpper(next)
		}
		switch {
		case ends && capital:
			words, word = append(words, word), letter
		case ends:
			words, word = append(words, word+letter), ""
		case strings.ContainsRune(" _-", r):
			words, word = append(words, word), ""
		default:
			word += letter
		}
	}
	return append(words, word)
}

func isUpper(b byte) bool { return 'A' <= b && b <= 'Z' }

func isLower(b byte) bool { return 'a' <= b && b <= 'z' }
