package runlog

import (
	"fmt"
	"slices"
	"strings"
)

// Words returns the most informative of a program's last lines: the last one that is not part of a stack trace.
// It is empty if there is no such line.
func Words(lines []string) string {
	for i, line := range slices.Backward(lines) {
		text := strings.TrimSpace(line)
		stack := strings.HasPrefix(line, "\t") || strings.HasPrefix(line, " ") || i+1 < len(lines) && strings.HasPrefix(lines[i+1], "\t")
		if text == "" || stack || strings.HasPrefix(text, "goroutine ") || strings.HasPrefix(text, "exit status ") {
			continue
		}
		return text
	}
	return ""
}

// Usage returns what a program prints if its flags are wrong: the reason and the usage text. It returns "" if the last lines of
// its output contain no usage text.
func Usage(lines []string) string {
	at := slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "usage")
	})
	if at < 0 {
		return ""
	}
	text := lines[max(0, at-1):]
	if more := len(text) - maxUsage; more > 0 {
		text = append(slices.Clone(text[:maxUsage]), fmt.Sprintf("… and %d more lines", more))
	}
	return strings.TrimSpace(strings.Join(text, "\n"))
}

// maxUsage is the maximum number of lines of a usage text.
const maxUsage = 40

// taken contains the messages of programs in any language about a port that is in use, in lower case.
var taken = []string{"address already in use", "eaddrinuse"}

// PortTaken reports whether the operator exited because another program listens on its port. Pods do not share
// their ports, so this does not happen in a cluster.
func (e *Exit) PortTaken() bool {
	return !e.Asked && slices.ContainsFunc(e.Log, func(line string) bool {
		line = strings.ToLower(line)
		return slices.ContainsFunc(taken, func(says string) bool { return strings.Contains(line, says) })
	})
}
