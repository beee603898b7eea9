package rule

import (
	"slices"
	"testing"
)

func TestMarkersAreReadAsByControllerGen(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"// +kubebuilder:rbac:groups={apps,batch},resources=jobs;deployments,verbs=get", "//+kubebuilder:rbac:groups=`apps`;\"batch\",resources={jobs,deployments},verbs=get",
	} {
		got, ok := parseMarker(text)
		if !ok || !slices.Equal(got.Groups, []string{"apps", "batch"}) || len(got.Resources) != 2 {
			t.Errorf("%s: %+v, %t", text, got, ok)
		}
	}
}

func FuzzParseMarker(f *testing.F) {
	for _, text := range []string{"groups={apps,batch},resources=jobs,verbs=get", "groups=core", "", "groups=`", "groups={", "verbs=\"\\", "urls=/a;/b,verbs=get"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, ok := parseMarker("// +kubebuilder:rbac:" + text); ok && slices.Contains(got.Groups, "core") {
			t.Errorf("%q has %+v", text, got)
		}
	})
}
