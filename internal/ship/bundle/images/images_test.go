package images_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/ship/bundle/images"
	"github.com/operon-framework/operon/internal/testing/registrytest"
)

// lamp returns the files of the valid bundle of package bundle.
func lamp(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, file := range []string{"manifests/lamp.clusterserviceversion.yaml", "manifests/lamps.yaml", "manifests/metrics.yaml", "metadata/annotations.yaml", "metadata/dependencies.yaml"} {
		content, err := os.ReadFile(filepath.Join("..", "testdata", "lamp", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		files[file] = string(content)
	}
	return files
}

// reader returns a reader, and checks at the end of the test that nothing of it is left.
func reader(t *testing.T) *images.Reader {
	t.Helper()
	made := &images.Reader{}
	t.Cleanup(func() {
		if err := made.Close(); err != nil {
			t.Error(err)
		}
	})
	return made
}

func TestRead(t *testing.T) {
	t.Parallel()
	reference := registrytest.New(t).Push("lamp:1.1.0", lamp(t))
	b, err := reader(t).Read(t.Context(), reference)
	if err != nil {
		t.Fatal(err)
	}
	if b.CSV.Name != "lamp-operator.v1.1.0" || b.Package != "lamp-operator" || b.FromImage != reference || len(b.CRDs) != 1 || len(b.Dependencies) == 0 {
		t.Errorf("read %+v", b)
	}
}

func TestCopy(t *testing.T) {
	t.Parallel()
	files := lamp(t)
	files["tests/scorecard/config.yaml"], files["opt/secret"] = "a: b", "not of the bundle"
	reference, to := registrytest.New(t).Push("lamp:1.1.0", files), filepath.Join(t.TempDir(), "new", "lamp")
	copied, err := reader(t).Copy(t.Context(), reference, to)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(copied.Digest, "sha256:") || len(copied.Files) != 6 || slices.Contains(copied.Files, "opt/secret") {
		t.Errorf("copied %+v", copied)
	}
	for _, file := range copied.Files {
		if content, err := os.ReadFile(filepath.Join(to, filepath.FromSlash(file))); err != nil || string(content) != files[file] {
			t.Errorf("%s: %q, %v", file, content, err)
		}
	}
	if _, err := reader(t).Copy(t.Context(), reference, to); err == nil || !strings.Contains(err.Error(), "is not empty: want a new or empty directory") {
		t.Errorf("into the same directory: %v", err)
	}
}

// What is not a bundle is an error that names the image, and leaves no directory.
func TestWhatIsNotABundle(t *testing.T) {
	t.Parallel()
	registry := registrytest.New(t)
	broken := lamp(t)
	broken["manifests/lamps.yaml"] = "kind: ["
	for name, test := range map[string]struct{ reference, want string }{
		"another image": {registry.Push("other:1", map[string]string{"usr/bin/true": ""}), "/other:1 is not a bundle: it has no directory /manifests"},
		"no CSV":        {registry.Push("empty:1", map[string]string{"manifests/a.yaml": "{apiVersion: v1, kind: Secret, metadata: {name: a}}"}), "/empty:1: "},
		"a broken file": {registry.Push("broken:1", broken), "/broken:1: manifests/lamps.yaml:"},
		"no image":      {registry.Host + "/none:1", "/none:1: the registry answers with status 404"},
		"no name":       {"A/b:1", "image A/b:1: could not parse reference"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := reader(t).Read(t.Context(), test.reference); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("want %q, got %v", test.want, err)
			}
		})
	}
	to := filepath.Join(t.TempDir(), "new")
	if _, err := reader(t).Copy(t.Context(), registry.Host+"/none:1", to); err == nil {
		t.Error("a missing image is copied")
	}
	if _, err := os.Stat(to); !os.IsNotExist(err) {
		t.Errorf("it left a directory: %v", err)
	}
}

func TestIs(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "b:1")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for argument, want := range map[string]bool{
		"registry.example.com/web:1": true, "localhost/web@sha256:" + strings.Repeat("a", 64): true, "127.0.0.1:5000/a/b:1": true,
		"bundles": false, "./bundles:1": false, "../b/c:1": false, "registry.example.com/web": false, "web:1": false, "/a/b:1": false, dir: false, "a/b:1": false,
	} {
		if got := images.Is(argument); got != want {
			t.Errorf("%s: %t", argument, got)
		}
	}
}
