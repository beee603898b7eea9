package up

import (
	"bytes"
	"testing"
)

// FuzzSum reads the metrics of an operator that may be written in another language.
func FuzzSum(f *testing.F) {
	for _, text := range []string{"a{b=\"c\"} 1\na 2\n", "a ", "a{", "a NaN\n", "# a\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if total, err := sum(bytes.NewReader(text), "a"); err != nil && total != 0 {
			t.Errorf("%g and %v", total, err)
		}
	})
}
