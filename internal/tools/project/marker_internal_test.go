package project

import "testing"

func FuzzResourceMarker(f *testing.F) {
	for _, text := range []string{"path=webs,shortName={a,\"b,c\"}", "path=`x`", "", "scope=\"\\", "}}{,", "shortName=a;b", "nonsense=1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		kind := Kind{Name: "Web", Markers: []Marker{{Text: "kubebuilder:resource:" + text}}}
		kind.name()
		if kind.Plural == "" || kind.Singular == "" {
			t.Errorf("%q leaves %+v", text, kind)
		}
	})
}
