package process

import (
	"slices"
	"strings"
)

// Crash returns the last lines of a log that show why a child ended: from its panic on, with the goroutine that panicked, or
// else the last lines. It returns at most n lines.
func Crash(tail []string, n int) []string {
	at := slices.IndexFunc(tail, func(line string) bool {
		return strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:")
	})
	if at < 0 {
		return tail[max(0, len(tail)-n):]
	}
	tail = tail[at:]
	return tail[:min(n, len(tail))]
}
