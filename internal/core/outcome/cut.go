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
