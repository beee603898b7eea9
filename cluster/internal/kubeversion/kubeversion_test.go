package kubeversion

import (
	"strings"
	"testing"

	"k8s.io/component-base/version"
)

func TestSet(t *testing.T) {
	if err := Set(); err != nil {
		t.Fatal(err)
	}
	got := version.Get()
	if want := "v" + version.DefaultKubeBinaryVersion + "."; !strings.HasPrefix(got.GitVersion, want) {
		t.Errorf("GitVersion %q, want %s*", got.GitVersion, want)
	}
	if got.Major+"."+got.Minor != version.DefaultKubeBinaryVersion {
		t.Errorf("%s.%s, want %s", got.Major, got.Minor, version.DefaultKubeBinaryVersion)
	}
}
