package image

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/operon-framework/operon/local"
)

// indexed returns the entries of an index: names of images, and types of attachments.
func indexed(t *testing.T, path layout.Path) []string {
	t.Helper()
	index, err := path.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, entry := range manifest.Manifests {
		found = append(found, entry.Annotations[containerdName]+entry.ArtifactType)
	}
	return found
}

func TestArchivesAreReadByAll(t *testing.T) {
	t.Parallel()
	for _, platforms := range [][]string{{"linux/amd64"}, {"linux/arm64", "linux/amd64"}} {
		store := newStore(t)
		made, file := sample(t, store, "program", platforms...), filepath.Join(t.TempDir(), "image.tar")
		name := named(t, "registry.example.com/web:1.0")
		for range 2 { // the second time over the existing one
			if err := store.WriteArchive(t.Context(), file, name, made); err != nil {
				t.Fatal(err)
			}
		}
		want := append([]string{name.Full}, slices.Repeat([]string{"application/spdx+json"}, len(platforms))...)
		if got := indexed(t, unpacked(t, file)); !slices.Equal(got, want) {
			t.Errorf("lists %q", got)
		}
		docker, err := tarball.ImageFromPath(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Image(docker); err != nil {
			t.Error(err)
		}
		if config, err := docker.ConfigFile(); err != nil || !slices.Contains(platforms, "linux/"+config.Architecture) {
			t.Errorf("%v, %v", config, err)
		}
		if left, _ := os.ReadDir(filepath.Dir(file)); len(left) != 1 {
			t.Errorf("left %v", left)
		}
	}
}

func TestArchivesAreWholeOrNotThere(t *testing.T) {
	t.Parallel()
	store, dir := newStore(t), t.TempDir()
	made := sample(t, store, "program", "linux/amd64")
	blobs, err := store.all(made)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "image.tar")
	write(t, filepath.Join(dir, ".image.tar.part"), "left by a run that was killed")
	if err := store.WriteArchive(t.Context(), file, named(t, "web"), made); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(store.path(blobs[0].Digest)); err != nil {
		t.Fatal(err)
	}
	if err := store.WriteArchive(t.Context(), file, named(t, "web"), made); err == nil {
		t.Error("an image without a blob was written")
	}
	after, err := os.ReadFile(file)
	if err != nil || string(after) != string(before) {
		t.Errorf("the archive of before is gone: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left %v", left)
	}
	for path, want := range map[string]string{dir: "is not a file", filepath.Join(dir, "none", "image.tar"): "no such file or directory"} {
		if err := store.WriteArchive(t.Context(), path, named(t, "web"), made); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// If two processes write the same file, the second returns an error, and does not change the file of the first.
func TestAnArchiveIsWrittenByOne(t *testing.T) {
	t.Parallel()
	store, file := newStore(t), filepath.Join(t.TempDir(), "image.tar")
	first, err := local.TryLock(filepath.Join(filepath.Dir(file), ".image.tar.part"))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Unlock()
	err = store.WriteArchive(t.Context(), file, named(t, "web"), sample(t, store, "program", "linux/amd64"))
	if err == nil || !strings.Contains(err.Error(), "another process is writing") {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
}

// A link with the name of a part, such as one in a repository, is replaced. What it leads to stays.
func TestPartsThatAreLinks(t *testing.T) {
	t.Parallel()
	outside, file := filepath.Join(t.TempDir(), "keys"), filepath.Join(t.TempDir(), "index.yaml")
	write(t, outside, "mine")
	if err := os.Symlink(outside, partOf(file)); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(file, 0o644, []byte("new")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{outside: "mine", file: "new"} {
		info, failed := os.Lstat(path)
		content, err := os.ReadFile(path)
		if err := errors.Join(failed, err); err != nil || !info.Mode().IsRegular() || string(content) != want {
			t.Errorf("%s is %q, %v", path, content, err)
		}
	}
	if info, err := os.Stat(outside); err != nil || info.Mode().Perm() == 0o644 {
		t.Errorf("its mode changed, or %v", err)
	}
}

func TestAFullDiskLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	full := errors.New("no space left on device")
	err := writeWhole(filepath.Join(dir, "image.tar"), 0o600, func(out io.Writer) error {
		_, err := out.Write([]byte("half"))
		return errors.Join(err, full)
	})
	if left, _ := os.ReadDir(dir); !errors.Is(err, full) || len(left) > 0 {
		t.Errorf("%v, left %v", err, left)
	}
}

func TestLayoutsGetWhatTheyDoNotHave(t *testing.T) {
	t.Parallel()
	store, dir := newStore(t), filepath.Join(t.TempDir(), "layout")
	put := func(image Image, name string, want int) {
		t.Helper()
		if written, err := store.writeLayout(t.Context(), dir, named(t, name), image, func() {}); err != nil || written != want {
			t.Errorf("wrote %d blobs, want %d: %v", written, want, err)
		}
	}
	old, fresh := sample(t, store, "old", "linux/amd64"), sample(t, store, "fresh", "linux/amd64")
	put(old, "registry.example.com/web:1", 6) // layer, configuration, manifest; document, its configuration and manifest
	put(old, "registry.example.com/web:1", 0)
	put(fresh, "registry.example.com/web:1", 4) // the document and the empty configuration are the same
	put(old, "registry.example.com/other:1", 0)
	want := []string{"registry.example.com/web:1", "application/spdx+json", "registry.example.com/other:1", "application/spdx+json"}
	if got := indexed(t, layout.Path(dir)); !slices.Equal(got, want) {
		t.Errorf("lists %q", got)
	}
}

func TestFoldersThatAreNoLayout(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	made := sample(t, store, "program", "linux/amd64")
	for file, want := range map[string]string{"photo.jpg": "is not an OCI layout, and contains files", indexFile: "is not the index of an OCI layout"} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, file), "x")
		if _, err := store.writeLayout(t.Context(), dir, named(t, "web"), made, func() {}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
		if left, _ := os.ReadDir(dir); len(left) != 1 {
			t.Errorf("left %v", left)
		}
	}
}

func TestStoresKeepWhatIsWanted(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	old, fresh := sample(t, store, "old", "linux/amd64"), sample(t, store, "fresh", "linux/amd64")
	for _, file := range []string{filepath.Join(store.blobs(), unfinished+"1"), filepath.Join(store.dir, "load.tar"), filepath.Join(store.dir, ".load.tar.part")} {
		write(t, file, "left by a run that was killed")
	}
	if _, err := Open(store.dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(store.dir); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
	below, err := store.below(old.Descriptor)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Keep(fresh, below[1]); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(store.blobs())
	if err != nil || len(left) != 7 || store.Has(old.Descriptor) || !store.Has(below[1]) || !store.Has(fresh.Descriptor) {
		t.Errorf("%d left, %v", len(left), err)
	}
}

func TestWhatIsAttachedNamesItsSubject(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	made := sample(t, store, "program", "linux/amd64")
	content, err := store.read(made.Attached[0])
	if err != nil {
		t.Fatal(err)
	}
	var manifest v1.Manifest
	if err := json.Unmarshal(content, &manifest); err != nil || manifest.Subject.Digest != made.Descriptor.Digest || manifest.ArtifactType != "application/spdx+json" {
		t.Errorf("%+v, %v", manifest, err)
	}
}

func TestScratchOfARunThatWasKilledIsRemoved(t *testing.T) {
	t.Setenv("OPERON_HOME", t.TempDir())
	dead := filepath.Join(os.Getenv("OPERON_HOME"), "image", "scratch-1")
	write(t, filepath.Join(dead, "blobs", "x"), "")
	first, err := NewScratch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second, err := NewScratch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("is still there: %v", err)
	}
	if _, err := os.Stat(first.Folder()); err != nil {
		t.Errorf("that of a run that goes on is gone: %v", err)
	}
	if err := errors.Join(first.Close(), second.Close()); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(os.Getenv("OPERON_HOME"), "image", "scratch-*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}
