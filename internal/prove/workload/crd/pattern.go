package crd

import (
	"regexp/syntax"
	"strings"
	"unicode"
)

// Matching returns short texts that match a regular expression: with as few repetitions as
// possible, and with one and two more of each. It returns none if the expression is not valid.
//
// Caveats: conditions between parts (\b) are ignored, so a text may fail to match.
func Matching(pattern string) []string {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	parsed = parsed.Simplify()
	var texts []string
	for _, more := range []int{0, 1, 2} {
		var text strings.Builder
		(&writer{&text, more}).write(parsed)
		if got := text.String(); len(texts) == 0 || got != texts[len(texts)-1] {
			texts = append(texts, got)
		}
	}
	return texts
}

// maxText limits the length of a text, because expressions can nest repetitions.
const maxText = 300

// writer writes a text that matches an expression.
type writer struct {
	text *strings.Builder
	more int // additional repetitions, and the index of the alternative
}

func (w *writer) write(e *syntax.Regexp) {
	if w.text.Len() > maxText {
		return
	}
	switch e.Op {
	case syntax.OpLiteral:
		for _, r := range e.Rune {
			w.text.WriteRune(r)
		}
	case syntax.OpCharClass:
		w.text.WriteRune(pleasant(e.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		w.text.WriteByte('x')
	case syntax.OpConcat, syntax.OpCapture:
		for _, part := range e.Sub {
			w.write(part)
		}
	case syntax.OpAlternate:
		w.write(e.Sub[w.more%len(e.Sub)])
	case syntax.OpPlus:
		w.repeat(e.Sub[0], 1+w.more)
	case syntax.OpStar:
		w.repeat(e.Sub[0], w.more)
	case syntax.OpQuest:
		w.repeat(e.Sub[0], min(w.more, 1))
	case syntax.OpRepeat: // does not occur after Simplify, only here for the reader
		w.repeat(e.Sub[0], e.Min)
	}
}

func (w *writer) repeat(e *syntax.Regexp, times int) {
	for range times {
		w.write(e)
	}
}

// pleasant returns a character of a class, if possible a letter or a digit. The class consists of pairs: the bounds of
// ranges.
func pleasant(class []rune) rune {
	for _, wanted := range []rune{'a', '1', 'A', ' '} {
		for i := 0; i+1 < len(class); i += 2 {
			if class[i] <= wanted && wanted <= class[i+1] {
				return wanted
			}
		}
	}
	for i := 0; i+1 < len(class); i += 2 {
		for r := class[i]; r <= min(class[i+1], class[i]+64); r++ {
			if unicode.IsPrint(r) {
				return r
			}
		}
	}
	if len(class) > 0 {
		return class[0]
	}
	return 'x'
}
