package outcome

import (
	"fmt"
	"unicode/utf8"
)

// MaxMessage limits the message of an outcome, in bytes. A condition may have 32 KiB: a status with a longer
// one is rejected as a whole. API servers quote values in their errors, so messages can be long.
const MaxMessage = 4 << 10

// Cut returns a text of at most max bytes and a note of how much is missing.
func Cut(text string, max int) string {
	if len(text) <= max {
		return text
	}
	end := max
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes more)", text[:end], len(text)-end)
}

// CutError returns an error with a text of at most MaxMessage bytes and a note of how much is missing. Its cause is err.
func CutError(err error) error {
	if err == nil || len(err.Error()) <= MaxMessage {
		return err
	}
	return &cutError{err}
}

type cutError struct{ cause error }

func (e *cutError) Error() string { return Cut(e.cause.Error(), MaxMessage) }
func (e *cutError) Unwrap() error { return e.cause }
