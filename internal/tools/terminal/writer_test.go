package terminal_test

import (
	"bytes"
	"testing"

	"github.com/operon-framework/operon/internal/tools/terminal"
)

func TestWriter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, painted string }{
		"plain":         {"a\tb — ü\n", "a\tb — ü\n"},
		"color":         {"\x1b[1;31mred\x1b[0m", "\x1b[1;31mred\x1b[0m"},
		"cursor":        {"\x1b[2Agone\x1b[K", "�[2Agone�[K"},
		"title":         {"\x1b]0;title\x07", "�]0;title�"},
		"clipboard":     {"\x1b]52;c;cm0=\x1b\\", "�]52;c;cm0=�\\"},
		"one byte CSI":  {"\u009b2J", "�2J"},
		"line is again": {"bad\rgood", "bad�good"},
		"backspace":     {"bad\b\b\b", "bad���"},
		"direction":     {"a\u202eb", "a�b"},
		"no UTF-8":      {"a\xffb", "a�b"},
	} {
		if got := terminal.Painted(c.text); got != c.painted {
			t.Errorf("%s: Painted is %q, want %q", name, got, c.painted)
		}
		var out bytes.Buffer
		if n, err := terminal.NewWriter(&out).Write([]byte(c.text)); n != len(c.text) || err != nil || out.String() != c.painted {
			t.Errorf("%s: written is %q (%d, %v), want %q", name, out.String(), n, err, c.painted)
		}
	}
}

// A character whose bytes are in two writes is written as one character.
func TestCharactersInParts(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := terminal.NewWriter(&out)
	for _, part := range []string{"a\xe2", "\x80", "\x94b"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if out.String() != "a—b" {
		t.Errorf("written is %q", out.String())
	}
}
