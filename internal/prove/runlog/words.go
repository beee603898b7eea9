package runlog

import (
	"slices"
	"strings"
)

// Words is the line of a program's last ones that tells most: the last that is not part of a stack.
// It is empty where there is none.
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

// taken is what programs in all languages say of a port that they cannot have, in lower case.
var taken = []string{"address already in use", "eaddrinuse"}

// PortTaken reports whether the operator ended as another program listens on its port. Pods do not share
// their ports, so that in a cluster there is no such end.
func (e *Exit) PortTaken() bool {
	return !e.Asked && slices.ContainsFunc(e.Log, func(line string) bool {
		line = strings.ToLower(line)
		return slices.ContainsFunc(taken, func(says string) bool { return strings.Contains(line, says) })
	})
}
