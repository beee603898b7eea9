package localtest

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/project"
)

// InstallCRDs applies the CRDs in files and directories and returns when they are served. They are not removed,
// because other tests on the cluster may use them.
func (e *Env) InstallCRDs(t testing.TB, paths ...string) {
	t.Helper()
	var definitions []*unstructured.Unstructured
	for _, path := range paths {
		for _, object := range readManifests(t, path) {
			definitions = append(definitions, object.Unstructured)
		}
	}
	if len(definitions) == 0 {
		t.Fatalf("no CustomResourceDefinitions in %q", paths)
	}
	if err := kube.InstallCRDs(t.Context(), e.Config, "localtest", definitions...); err != nil {
		t.Fatal(err)
	}
}

func readManifests(t testing.TB, path string) []project.Object {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	read := project.ReadFile
	if info.IsDir() {
		read = project.ReadFolder
	}
	objects, err := read(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}
