package project_test

import (
	"reflect"
	"strings"
	"testing"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/tools/project"
)

// FuzzValues compares the objects of one document with those that the decoder of Kubernetes makes of it.
func FuzzValues(f *testing.F) {
	for _, text := range []string{
		"a: [yes, no, On, OFF, y, n, true, False, null, ~, '', \"\", Null, NULL, Yesterday, no one, TRUE]",
		"a: [1, 017, 0o17, 0x1F, 0b11, 1_000, 1.5, .5, 1e3, -1, +1, -.inf, .NaN, 12:30:45, 9223372036854775807, 9223372036854775808, 1., 1e400, -0.0, 00]",
		"a: [2020-01-01, 2001-12-14t21:59:43.10-05:00, =, <<, +, -a, ., .., '1', \"yes\"]",
		"a: |\n  text\n   more\n\n  end\nb: >-\n  folded\n  text\n\n  end\nc: plain\n  text\n  1\nd:\n- \n- {}\n- []\n",
		"a: &a {b: 1}\nc: *a", "a: &a {b: 1}\nc: {<<: *a, d: 2}", "a: !!str 1", "1: a", "yes: a", "? [a]\n: b", "a: \"\\u0085\\x7f\\e\"", "a: b # c\n#d",
		"a: ! yes\nb: [!, ! 1]\nc: !", "a: 1\r\nb: |\r\n  x\r\n", "\ufeffa: 1",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "---") || strings.Contains(text, "...") {
			return // several documents
		}
		text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nvalue:\n  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n"
		got, err := project.Parse("file", []byte(text))
		encoded, other := yaml.YAMLToJSON([]byte(text))
		if err != nil || other != nil || len(got) != 1 {
			return // also for problems that this package finds and others do not, such as duplicates
		}
		var want map[string]any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(encoded, &want); err != nil {
			return
		}
		if !reflect.DeepEqual(got[0].Object, want) {
			t.Errorf("got  %#v\nwant %#v", got[0].Object, want)
		}
	})
}
