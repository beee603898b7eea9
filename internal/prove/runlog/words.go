package runlog

import (
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
