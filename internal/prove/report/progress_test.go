package report_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/prove/report"
)

// standing returns a standing at a time after the start.
func standing(after time.Duration, done, findings int) report.Standing {
	return report.Standing{
		Now: began.Add(after), Began: began, Until: began.Add(2 * time.Minute), Done: done, Planned: 200, Findings: findings,
		At: "kill after effect: create configmaps/demo-a | sample",
	}
}

const away = "\r\x1b[K"

func TestProgressOnATerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := report.NewProgress(&out, true, func() report.Look { return report.Look{Width: 70} })
	p.Update(report.Standing{Now: began, At: "learning what the operator does"})
	p.Update(standing(0, 0, 0))
	p.Update(standing(10*time.Second, 20, 0))
	p.Update(standing(10*time.Second+time.Millisecond, 21, 0)) // too soon
	p.Update(standing(100*time.Second, 199, 1))
	p.Close()
	p.Close()
	p.Update(standing(110*time.Second, 200, 1))
	got := strings.Split(strings.ReplaceAll(out.String(), "\r", "\n"), "\n")
	for i, want := range []string{
		"",
		"learning what the operator does\x1b[K",
		"20/200 test cases, 2.0/s, 1m30s left  no findings  kill aft… | sample\x1b[K",
		"199/200 test cases, 2.0/s, 1s left  1 finding  kill after…-a | sample\x1b[K",
		"\x1b[K",
	} {
		if i >= len(got) || got[i] != want {
			t.Errorf("piece %d is not %q in %q", i, want, got)
		}
	}
	if !strings.HasSuffix(out.String(), away) || strings.Count(out.String(), away) != 1 {
		t.Errorf("the line was not taken away, or more than once: %q", out.String())
	}
}

func TestProgressInALog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := report.NewProgress(&out, false, func() report.Look { return report.Look{Width: 40, Colour: true} })
	p.Update(report.Standing{Now: began, At: "learning what the operator does"})
	for second := range 9 {
		p.Update(standing(time.Duration(second)*time.Second, 2*second, second/8))
	}
	p.Update(standing(8100*time.Millisecond, 200, 1))
	p.Update(standing(20*time.Second, 220, 1))
	p.Close()
	const want = `learning what the operator does
10/200 test cases, 2.0/s, 1m35s left  no findings  kill after effect: create configmaps/demo-a | sample
200/200 test cases, 24.7/s, 0s left  1 finding  kill after effect: create configmaps/demo-a | sample
220/220 test cases, 11.0/s, 0s left  1 finding  kill after effect: create configmaps/demo-a | sample
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// Names from a cluster cannot control the terminal: the only escape sequences are those that replace the line.
func TestProgressHasNoControlCharactersFromNames(t *testing.T) {
	t.Parallel()
	const hostile = "\x1b[31m\x1b[2J\x1b]0;title\a\rforged\u009b2J"
	var out bytes.Buffer
	p := report.NewProgress(&out, true, func() report.Look { return report.Look{Width: 120} })
	p.Update(report.Standing{Now: began, At: hostile})
	p.Update(report.Standing{Now: began.Add(time.Minute), Began: began, Done: 1, Planned: 2, At: hostile})
	got := strings.Split(strings.TrimSuffix(out.String(), "\x1b[K"), "\x1b[K")
	if len(got) != 2 {
		t.Fatalf("%d lines: %q", len(got), got)
	}
	for _, line := range got {
		text, begins := strings.CutPrefix(line, "\r")
		if !begins || strings.ContainsFunc(text, steers) || !strings.HasSuffix(text, "�[31m�[2J�]0;title��forged�2J") {
			t.Errorf("%q", line)
		}
	}
}

// Progress is safe for concurrent use. The race detector checks this.
func TestProgressFromMany(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := report.NewProgress(&out, true, func() report.Look { return report.Look{} })
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			p.Update(standing(time.Duration(i)*time.Second, i, 0))
			p.Close()
		})
	}
	all.Wait()
	if !strings.HasSuffix(out.String(), away) || strings.Count(out.String(), away) != 1 {
		t.Errorf("the line was not taken away, or more than once: %q", out.String())
	}
}
