package process

import (
	"bytes"
	"io"
	"slices"
	"sync"
)

// remembered is the number of lines that a Log stores: enough for a panic with its goroutine.
const remembered = 60

// longestLine limits the stored part of a line that does not end.
const longestLine = 64 << 10

// Log receives the output of a child: it passes everything on to a writer, calls a function for each line, and stores the
// last lines. It is safe for concurrent use.
type Log struct {
	mu   sync.Mutex
	to   io.Writer
	line func(string)
	rest []byte
	tail []string
}

// NewLog returns a Log that writes to w and calls line, which must not block long.
func NewLog(w io.Writer, line func(string)) *Log { return &Log{to: w, line: line} }

// Write processes output of the child. It never fails, because the child must not end if its log cannot be written. Instead,
// the log lines report this error.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.to.Write(p); err != nil {
		l.take("operon: the log cannot be kept: " + err.Error())
		l.to = io.Discard
	}
	l.rest = append(l.rest, p...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole && len(l.rest) < longestLine {
			return len(p), nil
		}
		l.take(string(bytes.TrimRight(line, "\r")))
		l.rest = rest
	}
}

func (l *Log) take(line string) {
	if l.tail = append(l.tail, line); len(l.tail) > remembered {
		l.tail = slices.Delete(l.tail, 0, len(l.tail)-remembered)
	}
	l.line(line)
}

// Tail returns the last lines, at most n.
func (l *Log) Tail(n int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.tail
	if len(l.rest) > 0 {
		lines = append(slices.Clone(lines), string(l.rest))
	}
	return slices.Clone(lines[max(0, len(lines)-n):])
}

// Forget deletes the stored lines, for example before the child is started again.
func (l *Log) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail, l.rest = nil, nil
}
