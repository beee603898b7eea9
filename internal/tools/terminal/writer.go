package terminal

import (
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// color matches an escape sequence that changes only the look of text.
var color = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Painted is like Clean, but keeps colors.
func Painted(text string) string {
	var clean strings.Builder
	end := 0
	for _, at := range color.FindAllStringIndex(text, -1) {
		clean.WriteString(Clean(text[end:at[0]]) + text[at[0]:at[1]])
		end = at[1]
	}
	return clean.String() + Clean(text[end:])
}

// Writer writes text to another writer after Painted has cleaned it. It is safe for concurrent use.
type Writer struct {
	To io.Writer
	mu sync.Mutex
	// begun holds the first bytes of a character whose other bytes are in the next call.
	begun []byte
}

// NewWriter returns a Writer.
func NewWriter(to io.Writer) *Writer { return &Writer{To: to} }

// Write implements io.Writer.
func (w *Writer) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := append(w.begun, text...)
	whole := len(all)
	for back := 1; back < utf8.UTFMax && back <= len(all); back++ {
		if at := len(all) - back; utf8.RuneStart(all[at]) {
			if !utf8.FullRune(all[at:]) {
				whole = at
			}
			break
		}
	}
	w.begun = append([]byte(nil), all[whole:]...)
	if _, err := io.WriteString(w.To, Painted(string(all[:whole]))); err != nil {
		return 0, err
	}
	return len(text), nil
}
