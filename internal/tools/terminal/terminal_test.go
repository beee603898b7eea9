package terminal_test

import (
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/terminal"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\tb\nc": "a\tb\nc", "\x1b[2Ja": "�[2Ja", "a\rb": "a�b", "a\u202eb": "a�b", "\xff": "�", "\u009b2J": "�2J", "日本": "日本",
	} {
		if got := terminal.Clean(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	if got := terminal.Unstyled("\x1b[31mred\x1b[0m \x1b]0;title\a\x07x"); got != "red �x" {
		t.Errorf("unstyled %q", got)
	}
	if got := terminal.Line(" a\n\x1bb "); got != "a �b" {
		t.Errorf("line %q", got)
	}
}

func TestWidths(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"abc": 3, "日本": 4, "e\u0301": 1, "🙂": 2, "\x1b[1mab\x1b[0m": 2} {
		if got := terminal.Width(text); got != want {
			t.Errorf("%q has %d columns, want %d", text, got, want)
		}
	}
	for got, want := range map[string]string{
		terminal.Pad("日", 4): "日  ", terminal.Cut("日本語", 5): "日本…", terminal.Cut("abc", 3): "abc", terminal.Cut("\x1b[1mabcd\x1b[0m", 3): "\x1b[1mab…\x1b[0m",
		terminal.CutMiddle("abcdefgh", 5): "ab…gh", terminal.CutMiddle("日本語文字", 7): "日…文字", terminal.CutMiddle("a日本語文字", 6): "a…文字",
		strings.Join(terminal.Wrap("a bc def ghijkl", 4), "|"): "a bc|def|ghij|kl", strings.Join(terminal.Wrap("日本語", 4), "|"): "日本|語",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func FuzzWrap(f *testing.F) {
	f.Add("a \x1b[31mb 日本語", 3)
	f.Add("🏳️‍🌈🏳️‍🌈", 1)
	f.Add("\u0301\u0301\xff\x9b", -1)
	f.Fuzz(func(t *testing.T, text string, width int) {
		lines := terminal.Wrap(text, width)
		for _, line := range lines {
			if terminal.Width(line) > max(width, 2) {
				t.Errorf("%q is wider than %d", line, width)
			}
		}
		whole := strings.Join(strings.Fields(terminal.Clean(text)), "")
		if got := strings.Join(strings.Fields(strings.Join(lines, "")), ""); got != whole {
			t.Errorf("%q becomes %q", whole, got)
		}
	})
}
