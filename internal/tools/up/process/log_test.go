package process_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/up/process"
)

func TestLogTakesLinesApartAndPassesEverythingOn(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	var lines []string
	log := process.NewLog(&out, func(line string) { lines = append(lines, line) })
	for _, part := range []string{"one\r\ntw", "o\n\nend"} {
		fmt.Fprint(log, part)
	}
	if got := strings.Join(lines, "|"); got != "one|two|" {
		t.Errorf("lines %q", got)
	}
	if got := strings.Join(log.Tail(3), "|"); got != "two||end" {
		t.Errorf("tail %q", got)
	}
	if got := out.String(); got != "one\r\ntwo\n\nend" {
		t.Errorf("passed on %q", got)
	}
	log.Forget()
	if got := log.Tail(3); len(got) != 0 {
		t.Errorf("after Forget: %q", got)
	}
}

func TestLogRemembersALimitedNumberOfLines(t *testing.T) {
	t.Parallel()
	log := process.NewLog(&bytes.Buffer{}, func(string) {})
	fmt.Fprint(log, strings.Repeat("line\n", 1000), "last\n", strings.Repeat("x", 1<<20))
	tail := log.Tail(1 << 20)
	if len(tail) > 100 || len(tail[len(tail)-1]) > 1<<21 {
		t.Errorf("%d lines", len(tail))
	}
}

// full is a writer that fails like a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestAChildGoesOnWhenItsLogCannotBeKept(t *testing.T) {
	t.Parallel()
	var lines []string
	log := process.NewLog(full{}, func(line string) { lines = append(lines, line) })
	for _, text := range []string{"one\n", "two\n"} {
		if n, err := fmt.Fprint(log, text); n != len(text) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if got := strings.Join(lines, "|"); got != "operon: the log cannot be kept: no space left on device|one|two" {
		t.Errorf("%q", got)
	}
}

func TestCrashShowsThePanicFirst(t *testing.T) {
	t.Parallel()
	tail := []string{"starting", "panic: ouch", "", "goroutine 1 [running]:", "main.main()"}
	if got := strings.Join(process.Crash(tail, 3), "|"); got != "panic: ouch||goroutine 1 [running]:" {
		t.Errorf("a panic: %q", got)
	}
	if got := strings.Join(process.Crash(tail[:1], 3), "|"); got != "starting" {
		t.Errorf("none: %q", got)
	}
}
