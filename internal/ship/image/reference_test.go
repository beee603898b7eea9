package image

import "testing"

func FuzzParseName(f *testing.F) {
	for _, text := range []string{"web", "web:1.0", "registry.example.com:5000/team/web:1", "a@sha256:", "A", "", "../x", "[::1]/a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if name, err := ParseName(text); err == nil && (name.Short == "" || name.Tag == "") {
			t.Errorf("%q is %+v", text, name)
		}
	})
}
