// Package plural writes a number of things as text for people, such as "1 pod" or "2 entries", so that no message says "1 pods". It knows the
// regular plurals of English that messages need: those with s, and with ies for a consonant and y.
package plural

import (
	"fmt"
	"strings"
)

// Count returns a number and a noun, such as "1 pod", "3 pods" or "2 entries". The noun is in the singular.
func Count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y") && !strings.ContainsAny(noun[len(noun)-2:len(noun)-1], "aeiou"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
