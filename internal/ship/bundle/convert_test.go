package bundle_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/local/localtest"
)

func convert(t *testing.T, dir string) (out string, made []bundle.Conversion) {
	t.Helper()
	out = t.TempDir()
	made, err := bundle.Convert(t.Context(), dir, out)
	if err != nil {
		t.Fatal(err)
	}
	return out, made
}

// Each version of a package becomes a bundle, in the channels that lead to it, and without errors.
func TestConvert(t *testing.T) {
	t.Parallel()
	out, made := convert(t, "testdata/bell")
	if len(made) != 2 || !slices.Equal(made[0].Channels, []string{"stable", "old"}) || !slices.Equal(made[1].Channels, []string{"stable"}) {
		t.Errorf("made %+v", made)
	}
	if report := lint(t, "", out); report.Failed() {
		t.Errorf("found: %s", messages(report.Findings))
	}
	newest, err := bundle.Read(filepath.Join(out, "bell", "1.1.0"))
	if err != nil || len(newest.Problems) > 0 {
		t.Fatalf("%v, %v", newest.Problems, err)
	}
	if newest.Package != "bell" || newest.DefaultChannel != "stable" || newest.CSV.Spec.Replaces != "bell.v1.0.0" {
		t.Errorf("the newest is %+v", newest)
	}
	if _, again := bundle.Convert(t.Context(), "testdata/bell", out); again == nil || !strings.Contains(again.Error(), "is not overwritten") {
		t.Errorf("existing files are overwritten: %v", again)
	}
}

// A bundle without v1beta1 definitions is copied unchanged.
func TestConvertCopies(t *testing.T) {
	t.Parallel()
	out, made := convert(t, "testdata/lamp")
	if len(made) != 1 || len(made[0].Changes) > 0 {
		t.Errorf("made %+v", made)
	}
	for _, file := range []string{csvFile, crdFile, otherFile, notesFile, needsFile, "metadata/properties.yaml", "Dockerfile"} {
		before, err := os.ReadFile(filepath.Join("testdata", "lamp", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(filepath.Join(out, "lamp-operator", "1.1.0", filepath.FromSlash(file)))
		if err != nil || string(after) != string(before) {
			t.Errorf("%s differs, %v", file, err)
		}
	}
}

// Files that have no meaning for the conversion are copied: tests, and what others keep in metadata.
func TestConvertKeepsFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/lamp")); err != nil {
		t.Fatal(err)
	}
	added := map[string]string{"tests/scorecard/config.yaml": "kind: Configuration\n", "metadata/reports/scan.json": "{}"}
	for file, content := range added {
		path := filepath.Join(dir, filepath.FromSlash(file))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := convert(t, dir)
	for file, want := range added {
		content, err := os.ReadFile(filepath.Join(out, "lamp-operator", "1.1.0", filepath.FromSlash(file)))
		if err != nil || string(content) != want {
			t.Errorf("%s is %q, %v", file, content, err)
		}
	}
}

// Objects of removed versions are written in those that replaced them.
func TestConvertObjects(t *testing.T) {
	t.Parallel()
	dir := copied(t, "lamp")
	edit(t, dir, otherFile, "apiVersion: v1\nkind: Service\nmetadata:\n  name: lamp-metrics\nspec:\n  ports: [{port: 8443}]",
		"apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata:\n  name: lamp\nspec: {maxUnavailable: 1, selector: {}}")
	out, made := convert(t, dir)
	if want := "PodDisruptionBudget lamp is written in policy/v1, because Kubernetes 1.25 removed policy/v1beta1, and its empty selector is left out"; len(made) != 1 ||
		len(made[0].Changes) != 1 || !strings.HasPrefix(made[0].Changes[0], want) {
		t.Errorf("made %+v", made)
	}
	content, err := os.ReadFile(filepath.Join(out, "lamp-operator", "1.1.0", filepath.FromSlash(otherFile)))
	if want := "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata:\n  name: lamp\nspec:\n  maxUnavailable: 1\n"; err != nil || string(content) != want {
		t.Errorf("%v, written %s", err, content)
	}
}

func TestConvertWritesNothingOnErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ file, old, new, want string }{
		"a CRD that API servers reject": {"1.1.0/bells.crd.yaml", "scope: Namespaced", "scope: Galaxy", "1.1.0/bells.crd.yaml:1:1: CustomResourceDefinition bells.sound.example.com cannot be converted"},
		"a CSV that cannot be read":     {"1.0.0/bell.clusterserviceversion.yaml", "version: 1.0.0", "version: [1]", "spec.version: want a string"},
		"a version that is a path":      {"1.0.0/bell.clusterserviceversion.yaml", "version: 1.0.0", "version: ../1.0.0", "cannot be the name of a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, out := copied(t, "bell"), t.TempDir()
			edit(t, dir, test.file, test.old, test.new)
			if _, err := bundle.Convert(t.Context(), dir, out); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("want %q, got %v", test.want, err)
			}
			if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
				t.Errorf("written: %v, %v", left, err)
			}
		})
	}
	if _, err := bundle.Convert(t.Context(), "testdata/bell/1.0.0", t.TempDir()); err == nil || !strings.Contains(err.Error(), "convert the directory with its *.package.yaml file") {
		t.Errorf("one version of a package: %v", err)
	}
}

// Two bundles of one version are not mixed.
func TestConvertTwice(t *testing.T) {
	t.Parallel()
	dir, out := t.TempDir(), t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS("testdata/lamp")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := bundle.Convert(t.Context(), dir, out); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "b")+": the version 1.1.0 of the package lamp-operator is also in "+filepath.Join(dir, "a")) {
		t.Errorf("the error is %v", err)
	}
	if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
		t.Errorf("written: %v, %v", left, err)
	}
}

// An API server accepts a converted definition, and preserves the same fields as before: those that no schema mentions.
func TestConvertedDefinitions(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	out, _ := convert(t, "testdata/bell")
	env.InstallCRDs(t, filepath.Join(out, "bell", "1.1.0", "manifests", "bells.crd.yaml"))
	client, err := dynamic.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	bells := client.Resource(schema.GroupVersionResource{Group: "sound.example.com", Version: "v1alpha1", Resource: "bells"}).Namespace(env.Namespace)
	spec := map[string]any{"tone": "a", "port": "http", "extra": map[string]any{"loud": true}, "unknown": map[string]any{"deep": []any{"x"}}}
	bell := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "sound.example.com/v1alpha1", "kind": "Bell", "metadata": map[string]any{"name": "door"}, "spec": spec,
	}}
	stored, err := bells.Create(t.Context(), bell, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for field := range spec {
		if _, kept, err := unstructured.NestedFieldNoCopy(stored.Object, "spec", field); err != nil || !kept {
			t.Errorf("spec.%s was dropped: %v", field, stored.Object["spec"])
		}
	}
	unstructured.RemoveNestedField(bell.Object, "spec", "tone")
	bell.SetName("silent")
	if _, err := bells.Create(t.Context(), bell, metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "spec.tone") {
		t.Errorf("a required field is missing: %v", err)
	}
}
