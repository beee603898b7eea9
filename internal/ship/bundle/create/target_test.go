package create_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/ship/bundle/create"
	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/local"
)

// cached are the options for a bundle of an example in a directory.
func cached(out string) create.Options {
	return create.Options{Dir: root + "examples/memcached", Version: "1.2.0", Image: image, Out: out}
}

// names returns the names in a directory.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}

// Files that Operon did not write stay, unless the caller allows to replace them.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"manifests/deploy.yaml": {"manifests/deploy.yaml": "kind: Deployment\n"},
		"a/notes.md":            {"a/notes.md": "hello"},
		"metadata/annotations.yaml": {"metadata/annotations.yaml": "annotations: {operators.operatorframework.io.bundle.package.v1: memcached, " +
			"operators.operatorframework.io.metrics.builder: operator-sdk-v1.42.0}\n"},
		"Dockerfile": {"Dockerfile": "FROM scratch\n", "metadata/annotations.yaml": "annotations: {operators.operatorframework.io.bundle.package.v1: other, " +
			"operators.operatorframework.io.metrics.builder: operon}\n"},
	} {
		out := filepath.Join(t.TempDir(), "out")
		for file, content := range files {
			testaid.Write(t, filepath.Join(out, file), content)
		}
		_, err := create.Run(t.Context(), cached(out))
		if err == nil || !strings.Contains(err.Error(), filepath.Join(out, name)+": ") || !strings.Contains(err.Error(), "--overwrite") {
			t.Errorf("%s: the error is %v", name, err)
		}
		for file, content := range files {
			if got := testaid.Read(t, filepath.Join(out, file)); got != content {
				t.Errorf("%s is %q", file, got)
			}
		}
		o := cached(out)
		o.Overwrite = true
		result, err := create.Run(t.Context(), o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if name == "manifests/deploy.yaml" && !slices.Equal(result.Removed, []string{name}) {
			t.Errorf("removed are %v", result.Removed)
		}
		if got := names(t, filepath.Dir(out)); !slices.Equal(got, []string{"out"}) {
			t.Errorf("%s: beside the bundle are %v", name, got)
		}
	}
}

// An interrupted run changes nothing and leaves nothing.
func TestInterruption(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	if _, err := create.Run(t.Context(), cached(out)); err != nil {
		t.Fatal(err)
	}
	before := names(t, filepath.Join(out, "manifests"))
	testaid.Write(t, filepath.Join(out, "manifests", "extra.yaml"), "kind: ConfigMap\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := create.Run(ctx, cached(out)); err == nil {
		t.Error("a canceled run succeeds")
	}
	if got := names(t, filepath.Dir(out)); !slices.Equal(got, []string{"out"}) || len(names(t, filepath.Join(out, "manifests"))) != len(before)+1 {
		t.Errorf("after a canceled run there are %v", got)
	}
}

// A killed run leaves either the older bundle or the new one. The next run removes the rest, but not what another run is writing.
func TestKilledRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, live := filepath.Join(dir, "out"), filepath.Join(dir, ".out-5.part")
	if _, err := create.Run(t.Context(), cached(out)); err != nil {
		t.Fatal(err)
	}
	testaid.Write(t, filepath.Join(out, "notes.md"), "mine")
	if err := os.Rename(out, filepath.Join(dir, ".out-17.part.old")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".out-17.part", ".out-4.part", ".out-5.part", ".out-notes"} {
		testaid.Write(t, filepath.Join(dir, name, "a"), "")
	}
	lock, err := local.TryLockFolder(live)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	if _, err := create.Run(t.Context(), cached(out)); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); !slices.Equal(got, []string{".out-5.part", ".out-notes", "out"}) {
		t.Errorf("beside the bundle are %v", got)
	}
	if got := testaid.Read(t, filepath.Join(out, "notes.md")); got != "mine" {
		t.Errorf("the file of the older bundle is %q", got)
	}
}

// Links in a bundle do not lead to files outside of it.
func TestLinksOutOfBundles(t *testing.T) {
	t.Parallel()
	out, outside := filepath.Join(t.TempDir(), "out"), t.TempDir()
	if _, err := create.Run(t.Context(), cached(out)); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(outside, "own.yaml")
	testaid.Write(t, own, "properties: []\n")
	properties, manifests := filepath.Join(out, "metadata/properties.yaml"), filepath.Join(out, "manifests")
	if err := os.Symlink(own, properties); err != nil {
		t.Fatal(err)
	}
	later := cached(filepath.Join(t.TempDir(), "next"))
	later.Version, later.Previous = "1.3.0", out
	for _, o := range []create.Options{cached(out), later} {
		if _, err := create.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "metadata/properties.yaml") || !strings.Contains(err.Error(), "leads out of the bundle") {
			t.Errorf("the error is %v", err)
		}
	}
	if err := errors.Join(os.Remove(properties), os.RemoveAll(manifests), os.Symlink(outside, manifests)); err != nil {
		t.Fatal(err)
	}
	if _, err := create.Run(t.Context(), cached(out)); err == nil || !strings.Contains(err.Error(), "manifests") || !strings.Contains(err.Error(), "leads out of the bundle") {
		t.Errorf("the error is %v", err)
	}
	if got := names(t, outside); !slices.Equal(got, []string{"own.yaml"}) {
		t.Errorf("outside are %v", got)
	}
}

// Annotations, tests and other files of an earlier bundle stay.
func TestKept(t *testing.T) {
	t.Parallel()
	first, next := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "next")
	if _, err := create.Run(t.Context(), cached(first)); err != nil {
		t.Fatal(err)
	}
	annotations := filepath.Join(first, "metadata/annotations.yaml")
	testaid.Write(t, annotations, testaid.Read(t, annotations)+"  com.example.note: 'it''s \"1.0\" # $HOME'\n  com.example.number: \"1.0\"\n")
	testaid.Write(t, filepath.Join(first, "tests/scorecard/config.yaml"), "kind: Configuration\n")
	testaid.Write(t, filepath.Join(first, "metadata/dependencies.yaml"), "dependencies: []\n")
	if _, err := create.Run(t.Context(), cached(first)); err != nil {
		t.Fatal(err)
	}
	o := cached(next)
	o.Version, o.Previous = "1.3.0", first
	if _, err := create.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{first, next} {
		b, err := bundle.Read(dir)
		if err != nil || len(b.Problems) > 0 {
			t.Fatal(err, b.Problems)
		}
		if got := b.Annotations(); got["com.example.note"] != `it's "1.0" # $HOME` || got["com.example.number"] != "1.0" {
			t.Errorf("the annotations are %v", got)
		}
		if got := findings(t, dir); len(got) > 0 {
			t.Errorf("findings %v", got)
		}
		if got := testaid.Read(t, filepath.Join(dir, "metadata/dependencies.yaml")); got != "dependencies: []\n" {
			t.Errorf("the dependencies are %q", got)
		}
		if got := testaid.Read(t, filepath.Join(dir, "tests/scorecard/config.yaml")); got != "kind: Configuration\n" {
			t.Errorf("the tests are %q", got)
		}
		if got := testaid.Read(t, filepath.Join(dir, "Dockerfile")); !strings.Contains(got, "COPY tests/scorecard /tests/scorecard/\n") ||
			!strings.Contains(got, `LABEL com.example.note="it's \"1.0\" # \$HOME"`) {
			t.Errorf("the Dockerfile is\n%s", got)
		}
	}
	testaid.Write(t, annotations, testaid.Read(t, annotations)+"  com.example.text: \"a\\nRUN b\"\n")
	if _, err := create.Run(t.Context(), cached(first)); err == nil || !strings.Contains(err.Error(), `the annotation "com.example.text"`) {
		t.Errorf("the error is %v", err)
	}
}

// Names that cannot be labels, or that would change the files of the metadata, are errors.
func TestNames(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*create.Options){
		`the name of the package "a b"`:      func(o *create.Options) { o.Package = "a b" },
		`the name of the package "a.b"`:      func(o *create.Options) { o.Package = "a.b" },
		`the channel "a\nRUN b"`:             func(o *create.Options) { o.Channels = []string{"stable", "a\nRUN b"} },
		`the default channel "fast: {a: b}"`: func(o *create.Options) { o.DefaultChannel = "fast: {a: b}" },
	} {
		o := cached(filepath.Join(t.TempDir(), "out"))
		change(&o)
		if _, err := create.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	o := cached(out)
	o.Channels = []string{"1.0"}
	if _, err := create.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if got := testaid.Read(t, filepath.Join(out, "metadata/annotations.yaml")); !strings.Contains(got, `channels.v1: "1.0"`) {
		t.Errorf("a channel is a number in\n%s", got)
	}
}
