package generate

import (
	"bytes"
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
