// Package plural writes numbers of things for people.
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
	case strings.HasSuffix(noun, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
