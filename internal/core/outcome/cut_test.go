package outcome

import (
	"errors"
	"fmt"
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

func TestErrorsAreCut(t *testing.T) {
	t.Parallel()
	short := errors.New("short")
	if got := CutError(short); got != short {
		t.Errorf("a short error became %v", got)
	}
	if got := CutError(nil); got != nil {
		t.Errorf("no error became %v", got)
	}
	long := CutError(fmt.Errorf("%s: %w", strings.Repeat("é", 256<<10), short))
	if got := long.Error(); len(got) > MaxMessage+64 || !utf8.ValidString(got) {
		t.Errorf("%d bytes", len(got))
	}
	if !errors.Is(long, short) {
		t.Error("the cause is lost")
	}
}
