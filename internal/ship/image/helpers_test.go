package image

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

func newStore(t *testing.T) *Store {
	t.Helper()
	store, err := Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func named(t *testing.T, text string) Name {
	t.Helper()
	name, err := ParseName(text)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// sample builds an image for each platform, an index if there are several, and attaches a document to each.
func sample(t *testing.T, store *Store, content string, platforms ...string) Image {
	t.Helper()
	layer, err := store.Layer(t.Context(), "test", []File{Content("bin/program", 0o755, []byte(content))})
	if err != nil {
		t.Fatal(err)
	}
	var made Image
	var images []v1.Descriptor
	for _, text := range platforms {
		platform, err := ParsePlatform(text)
		if err != nil {
			t.Fatal(err)
		}
		one, err := store.Image(Config{Platform: platform, Created: Epoch, Annotations: map[string]string{"for": text}}, layer)
		if err != nil {
			t.Fatal(err)
		}
		attached, err := store.Attach(one, "application/spdx+json", []byte(`{"for":"`+text+`"}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		images, made.Attached = append(images, one), append(made.Attached, attached)
	}
	made.Descriptor = images[0]
	if len(images) > 1 {
		if made.Descriptor, err = store.Index(nil, images...); err != nil {
			t.Fatal(err)
		}
	}
	return made
}

// unpacked unpacks an archive and returns it as a layout.
func unpacked(t *testing.T, archive string) layout.Path {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	dir := t.TempDir()
	for reader := tar.NewReader(file); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return layout.Path(dir)
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, header.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		t.Fatal(err)
	}
}
