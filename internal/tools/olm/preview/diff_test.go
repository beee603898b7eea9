package preview

import (
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		from, to string
		removes  bool
		want     []string
	}{
		"equal, with numbers of other types": {`{a: 1, b: [1, 2]}`, `{a: 1.0, b: [1, 2]}`, true, nil},
		"fields of others stay":              {`{a: 1, b: 2}`, `{a: 3}`, false, []string{"a: 1 -> 3"}},
		"fields that are gone":               {`{a: {b: 2}}`, `{a: {}}`, true, []string{"a.b: 2 -> (none)"}},
		"fields that are new":                {`{}`, `{a: {b: x}}`, false, []string{`a: (none) -> {"b":"x"}`}},
		"items by name": {
			`{env: [{name: A, value: x}, {name: B, value: q}]}`, `{env: [{name: B, value: z}, {name: C}]}`, true,
			[]string{`env[A]: {"name":"A","value":"x"} -> (none)`, `env[B].value: "q" -> "z"`, `env[C]: (none) -> {"name":"C"}`},
		},
		"items with defaults":     {`{ports: [{port: 1, protocol: TCP}]}`, `{ports: [{port: 1}]}`, false, nil},
		"lists of other lengths":  {`{args: [a]}`, `{args: [a, b]}`, true, []string{`args: ["a"] -> ["a","b"]`}},
		"another type":            {`{a: [1]}`, `{a: {b: 1}}`, true, []string{`a: [1] -> {"b":1}`}},
		"names that are repeated": {`{a: [{name: x, v: 1}, {name: x, v: 2}]}`, `{a: [{name: x, v: 1}, {name: x, v: 3}]}`, true, []string{"a[1].v: 2 -> 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, change := range diff(parsed(t, test.from), parsed(t, test.to), test.removes) {
				got = append(got, change.String())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func parsed(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestValuesOfSecretsAreConcealed(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]any{"Secret": "(not shown)", "ConfigMap": "a"} {
		if got := concealed(kind, []Change{{Path: "data.x", From: "a", To: "b"}}); got[0].From != want {
			t.Errorf("%s: %v", kind, got)
		}
	}
}
