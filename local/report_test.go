package local

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestReportFollowsTheGoCommand(t *testing.T) {
	t.Parallel()
	r := &report{program: binaryName, doing: "starting"}
	for _, step := range []struct{ line, want string }{
		{"", "  starting, 9s"},
		{"internal/goarch", "  compiling, 1 packages, 9s"},
		{"go: downloading k8s.io/api v0.36.3", "  downloading modules, 1 packages, 9s"},
		{"k8s.io/api/core/v1", "  compiling, 2 packages, 9s"},
		{"# k8s.io/api: warning", "  compiling, 2 packages, 9s"},
		{clusterModule + "/cmd/" + binaryName, "  linking, 2 packages, 9s"},
	} {
		r.line(step.line)
		if got := r.sentence(9 * time.Second); got != step.want {
			t.Errorf("after %q: %q, want %q", step.line, got, step.want)
		}
	}
	r.expect(2000)
	if got := r.sentence(61 * time.Second); got != "  linking, 2 of at most 2000 packages, 1m1s" {
		t.Errorf("with a count: %q", got)
	}
}

func TestReportWritesPlainLinesWhereThereIsNoTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := newReport(binaryName, &out)
	r.done()
	r.stop()
	if got := out.String(); strings.Contains(got, "\x1b") || !strings.HasPrefix(got, "building the local Kubernetes") || !strings.HasSuffix(got, "  done, 0s\n") {
		t.Errorf("%q", got)
	}
}

func TestLineWriterTakesLinesApart(t *testing.T) {
	t.Parallel()
	var lines []string
	w := &lineWriter{line: func(line string) { lines = append(lines, line) }}
	for _, part := range []string{"one\ntw", "o\n", "three"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	w.flush()
	if got := strings.Join(lines, "|"); got != "one|two|three" {
		t.Errorf("%q", got)
	}
}
