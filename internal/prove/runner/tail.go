package runner

import (
	"bytes"
	"slices"
	"strings"
	"sync"
)

// Limits of the operator output that is stored.
const (
	keptLines = 300 // usage texts are long, and the reason is in their first line
	maxLine   = 4 << 10
)

// tail stores the last lines of an operator's output, and its first panic.
type tail struct {
	mu    sync.Mutex
	rest  []byte
	lines []string
	panic string
}

// Write implements io.Writer. It never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rest = append(t.rest, p...)
	for {
		line, rest, whole := bytes.Cut(t.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		t.take(string(bytes.TrimRight(line, "\r")))
		t.rest = rest
	}
}

func (t *tail) take(line string) {
	if t.panic == "" && panics(line) {
		t.panic = line[:min(len(line), maxLine)]
	}
	if t.lines = append(t.lines, line[:min(len(line), maxLine)]); len(t.lines) > keptLines {
		t.lines = slices.Delete(t.lines, 0, len(t.lines)-keptLines)
	}
}

// panics reports whether a line shows a panic: a panic of Go, a panic that controller-runtime or
// apimachinery recovered, or a panic of Rust.
func panics(line string) bool {
	return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") ||
		strings.Contains(line, "Observed a panic") || strings.Contains(line, "[recovered]") ||
		strings.HasPrefix(line, "thread '") && strings.Contains(line, "' panicked at")
}

// read returns the last lines and the first panic.
func (t *tail) read() (lines []string, panic string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines = slices.Clone(t.lines)
	if len(t.rest) > 0 {
		lines = append(lines, string(t.rest[:min(len(t.rest), maxLine)]))
	}
	return lines, t.panic
}
