package outcome

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "abcd": "abcd", "abcde": "abcd… (1 bytes more)", "abcéf": "abc… (3 bytes more)"} {
		if got := Cut(text, 4); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestMessagesAreCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 256<<10)
	for _, o := range []Outcome{Wait("A", long), Retry(0, "A", long), Stalled("A", long)} {
		if got := o.Message(); len(got) > MaxMessage+64 || !utf8.ValidString(got) {
			t.Errorf("%v: %d bytes", o.Kind(), len(got))
		}
	}
}
