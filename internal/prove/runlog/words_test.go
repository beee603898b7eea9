package runlog_test

import (
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/prove/runlog"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":             "",
		"one\ntwo\n\n": "two",
		"2026-01-01T00:00:00Z\tERROR\tsetup\tFailed\t{}\nmain.main\n\t/main.go:1\nruntime.main\n\t/proc.go:290": "2026-01-01T00:00:00Z\tERROR\tsetup\tFailed\t{}",
		"Traceback (most recent call last):\n  File \"a.py\", line 1\nOSError: no":                              "OSError: no",
		"it failed\n\ngoroutine 1 [running]:\nmain.main()\n\t/main.go:1\nexit status 2":                         "it failed",
		"\tall\n\tindented": "",
	} {
		if got := runlog.Words(strings.Split(text, "\n")); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	long := "Usage:\n" + strings.Repeat("  -f\n", 60)
	for text, want := range map[string]string{
		"":                    "",
		"it failed: no usage": "",
		"flag provided but not defined: -x\nUsage of op:\n  -a string\n    \tan address": "flag provided but not defined: -x\nUsage of op:\n  -a string\n    \tan address",
		"usage: op [-h]\nop: error: unrecognized arguments: --x":                         "usage: op [-h]\nop: error: unrecognized arguments: --x",
		long: "Usage:\n" + strings.Repeat("  -f\n", 39) + "… and 22 more lines",
	} {
		if got := runlog.Usage(strings.Split(text, "\n")); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestPortTaken(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"listen tcp :8080: bind: address already in use": true,
		"OSError: [Errno 98] Address already in use":     true,
		"Error: listen EADDRINUSE: address :::8080":      true,
		"the address is no address":                      false,
	} {
		exit := runlog.Exit{Log: []string{"begin", line, "end"}}
		if got := exit.PortTaken(); got != want {
			t.Errorf("%s: %v", line, got)
		}
		if exit.Asked = true; exit.PortTaken() {
			t.Errorf("%s: when asked to end", line)
		}
	}
}
