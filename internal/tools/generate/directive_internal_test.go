package generate

import (
	"bytes"
	"slices"
	"testing"
)

func FuzzDirective(f *testing.F) {
	for _, text := range []string{"package main\n\n//go:generate operon generate --helm\n", "//go:generate go run x/cmd/operon generate \"--a b\"", "//go:generate", "/*\n//go:generate operon generate\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		flags, line := directiveIn(source)
		if line < 0 || line > bytes.Count(source, []byte("\n"))+1 || line == 0 && flags != nil {
			t.Errorf("%q in line %d of %q", flags, line, source)
		}
	})
}

func TestWordsInQuotesAreOneFlag(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		`operon generate --helm`: {"--helm"},
		"  go run x/cmd/operon\tgenerate --helm --header \"a b\\t\" ": {"--helm", "--header", "a b\t"},
		`operon generate "--header=a b" c"d e`:                        {"--header=a b", `c"d`, "e"},
		`operon generate "open`:                                       {`"open`},
	} {
		if got, at := directiveIn([]byte("package main\n" + generateLine + line + "\n")); at != 2 || !slices.Equal(got, want) {
			t.Errorf("%s: %q in line %d, want %q", line, got, at, want)
		}
	}
}
