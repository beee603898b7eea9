package image

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/operon-framework/operon/internal/tools/glob"
)

// Store is a directory of blobs, which are named by their digests.
type Store struct{ dir string }

// Open returns the store in dir, which it creates if necessary. It removes the remains of an interrupted run, and no other process may
// write to the store in the meantime.
func Open(dir string) (*Store, error) {
	store := &Store{dir}
	if err := os.MkdirAll(store.blobs(), 0o700); err != nil {
		return nil, err
	}
	return store, store.sweep()
}

// sweep removes the remains of an interrupted run.
func (s *Store) sweep() error {
	for _, pattern := range []string{"blobs/sha256/" + unfinished + "*", loadFile, partOf(loadFile)} {
		left, err := glob.In(s.dir, pattern)
		if err != nil {
			return err
		}
		for _, file := range left {
			if err := os.Remove(file); err != nil {
				return err
			}
		}
	}
	return nil
}

// unfinished is the prefix of the names of blobs that are being written.
const unfinished = "unfinished-"

func (s *Store) blobs() string { return filepath.Join(s.dir, "blobs", "sha256") }

func (s *Store) path(digest v1.Hash) string { return filepath.Join(s.blobs(), digest.Hex) }

// Has reports whether the blob exists.
func (s *Store) Has(blob v1.Descriptor) bool {
	info, err := os.Stat(s.path(blob.Digest))
	return err == nil && info.Size() == blob.Size
}

// Keep removes all blobs except those of an image and the additional ones.
func (s *Store) Keep(image Image, more ...v1.Descriptor) error {
	blobs, err := s.all(image)
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, blob := range append(blobs, more...) {
		wanted[blob.Digest.Hex] = true
	}
	entries, err := os.ReadDir(s.blobs())
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if wanted[entry.Name()] {
			continue
		}
		if err := os.Remove(filepath.Join(s.blobs(), entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// stream writes a blob with the content that write writes.
func (s *Store) stream(media types.MediaType, write func(io.Writer) error) (v1.Descriptor, error) {
	part, err := os.CreateTemp(s.blobs(), unfinished)
	if err != nil {
		return v1.Descriptor{}, err
	}
	defer os.Remove(part.Name())
	hash := sha256.New()
	size := new(counter)
	err = write(io.MultiWriter(part, hash, size))
	// Without Sync, a power failure could leave a damaged blob under a valid name, and every later push would fail.
	if err := errors.Join(err, part.Sync(), part.Close()); err != nil {
		return v1.Descriptor{}, err
	}
	digest := v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(hash.Sum(nil))}
	if err := os.Rename(part.Name(), s.path(digest)); err != nil {
		return v1.Descriptor{}, err
	}
	return v1.Descriptor{MediaType: media, Size: int64(*size), Digest: digest}, nil
}

// counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// put writes a blob.
func (s *Store) put(media types.MediaType, content []byte) (v1.Descriptor, error) {
	return s.stream(media, func(blob io.Writer) error {
		_, err := io.Copy(blob, bytes.NewReader(content))
		return err
	})
}

// putJSON writes a JSON blob.
func (s *Store) putJSON(media types.MediaType, value any) (v1.Descriptor, error) {
	content, err := json.Marshal(value)
	if err != nil {
		return v1.Descriptor{}, err
	}
	return s.put(media, content)
}

// read reads a blob.
func (s *Store) read(blob v1.Descriptor) ([]byte, error) {
	content, err := os.ReadFile(s.path(blob.Digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the blob %s is missing in %s", blob.Digest, s.dir)
	}
	return content, err
}

// all returns the blobs of an image, each once: layers and configurations before the manifests that name them.
func (s *Store) all(image Image) ([]v1.Descriptor, error) {
	var found []v1.Descriptor
	seen := map[v1.Hash]bool{}
	var follow func(v1.Descriptor) error
	follow = func(blob v1.Descriptor) error {
		if seen[blob.Digest] {
			return nil
		}
		seen[blob.Digest] = true
		below, err := s.below(blob)
		if err != nil {
			return err
		}
		for _, next := range below {
			if err := follow(next); err != nil {
				return err
			}
		}
		found = append(found, blob)
		return nil
	}
	for _, root := range append([]v1.Descriptor{image.Descriptor}, image.Attached...) {
		if err := follow(root); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// below returns the blobs that a manifest or an index names.
func (s *Store) below(blob v1.Descriptor) ([]v1.Descriptor, error) {
	if !blob.MediaType.IsImage() && !blob.MediaType.IsIndex() {
		return nil, nil
	}
	content, err := s.read(blob)
	if err != nil {
		return nil, err
	}
	if blob.MediaType.IsIndex() {
		index, err := v1.ParseIndexManifest(bytes.NewReader(content))
		if err != nil {
			return nil, err
		}
		return index.Manifests, nil
	}
	manifest, err := v1.ParseManifest(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	return append([]v1.Descriptor{manifest.Config}, manifest.Layers...), nil
}
