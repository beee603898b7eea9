// Package pulled fetches the images of bundles and catalogs, and unpacks the files below some of their directories into a directory of this
// machine, once for each digest. Those that were not used for the longest time are removed when they take too much space.
//
// Images are untrusted: sizes and the number of files are bounded, digests are verified, only regular files and directories are unpacked,
// and no path leads out of the directory. Nothing of an image is executed.
package pulled

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"k8s.io/utils/keymutex"
)

// Store has the unpacked images in a directory. Its methods can be called at the same time.
type Store struct {
	dir    string
	limits Limits
	// images are locked one by one, so that a registry that does not answer holds up no other image.
	images keymutex.KeyMutex
	remote []remote.Option
	// connections are shared by all owners.
	connections http.RoundTripper
	// owner is the end of the names of directories, if there is an owner with credentials.
	owner string
}

// New returns the images in a directory, which is created when it is needed.
func New(dir string, limits Limits) *Store {
	connections := transport()
	return &Store{
		dir: dir, limits: limits, images: keymutex.NewHashed(64), connections: connections,
		remote: []remote.Option{remote.WithAuthFromKeychain(authn.NewMultiKeychain()), remote.WithTransport(connections)},
	}
}

// Image is an unpacked image.
type Image struct {
	// Digest is the digest that the reference has or stands for: of the image, or of the list of images for several platforms.
	Digest string
	// Dir is the directory with its files.
	Dir string `json:"-"`
	// Cache is a directory for what is made of the files. It does not exist at first, and is removed with them.
	Cache string `json:"-"`
	// Labels are the labels in the image's configuration.
	Labels map[string]string
	// Size is the size of the files in bytes, with a block for each file and directory.
	Size int64
}

// Within returns an error about files of the image with the names that they have in the image.
func (i *Image) Within(err error) error {
	return errors.New(strings.NewReplacer(i.Dir+string(filepath.Separator), "", i.Dir, "its content").Replace(err.Error()))
}

// Fetch unpacks the files of an image below some directories, such as manifests, unless that was done before. A reference with a digest
// that is unpacked needs no registry. A failure names the image.
func (s *Store) Fetch(ctx context.Context, reference string, directories ...string) (*Image, error) {
	image, err := s.fetch(ctx, reference, directories)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w%s", reference, err, podHint(reference, err))
	}
	return image, nil
}

func (s *Store) fetch(ctx context.Context, reference string, directories []string) (*Image, error) {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return nil, err
	}
	if pinned, ok := ref.(name.Digest); ok {
		if image, err := open(s.place(pinned.DigestStr(), directories)); image != nil || err != nil {
			return image, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timing.fetch)
	defer cancel()
	found, err := remote.Get(ref, append(s.remote, remote.WithContext(ctx))...)
	if err != nil {
		return nil, response(err, "the response is not that of a registry of images")
	}
	place := s.place(found.Digest.String(), directories)
	s.images.LockKey(place)
	defer s.images.UnlockKey(place) //nolint:errcheck // it is locked
	if image, err := open(place); image != nil || err != nil {
		return image, err
	}
	if err := s.unpack(found, place, directories); err != nil {
		return nil, err
	}
	if err := s.evict(place); err != nil {
		return nil, err
	}
	return open(place)
}

// Write keeps files as those of an image, such as a catalog that a server has. make writes them into a directory and returns their digest. Files
// with the digest that exist already stay.
func (s *Store) Write(kind string, make func(dir string) (digest string, err error)) (*Image, error) {
	unfinished, err := s.unfinished()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(unfinished)
	image := Image{}
	files := filepath.Join(unfinished, filesName)
	if image.Digest, err = make(files); err != nil {
		return nil, err
	}
	err = filepath.WalkDir(files, func(_ string, entry fs.DirEntry, err error) error {
		image.Size += block
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		about, err := entry.Info()
		if err == nil {
			image.Size += about.Size()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	place := s.place(image.Digest, []string{kind})
	s.images.LockKey(place)
	defer s.images.UnlockKey(place) //nolint:errcheck // it is locked
	if known, err := open(place); known != nil || err != nil {
		return known, err
	}
	if err := finish(unfinished, place, image); err != nil {
		return nil, err
	}
	if err := s.evict(place); err != nil {
		return nil, err
	}
	return open(place)
}

// Written returns files that Write has kept, or nil if they were removed since.
func (s *Store) Written(kind, digest string) (*Image, error) {
	return open(s.place(digest, []string{kind}))
}

// unfinished returns a new directory for an image, with one for its files.
func (s *Store) unfinished() (string, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return "", err
	}
	made, err := os.MkdirTemp(s.dir, unfinishedPrefix)
	if err != nil {
		return "", err
	}
	return made, os.Mkdir(filepath.Join(made, filesName), 0o700)
}

// finish moves an image to its place.
func finish(unfinished, place string, image Image) error {
	content, err := json.Marshal(image)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(unfinished, aboutName), content, 0o600); err != nil {
		return err
	}
	return os.Rename(unfinished, place)
}

// unpacking is the version of the way in which images are unpacked. A new one makes the store unpack all images again.
const unpacking = "-2-"

// place returns the directory of an image, which depends on what is unpacked of it, and how.
func (s *Store) place(digest string, directories []string) string {
	return filepath.Join(s.dir, strings.ReplaceAll(digest, ":", "-")+unpacking+strings.ReplaceAll(strings.Join(directories, "+"), "/", "_")+s.owner)
}

// Names in the directory of an image: of the file with what is known about it, and of the directories with its files and the cache.
const (
	aboutName = "image.json"
	filesName = "files"
	cacheName = "cache"
)

// open returns an image that was unpacked, or nil, and notes that it was used now.
func open(place string) (*Image, error) {
	now := time.Now()
	if err := os.Chtimes(filepath.Join(place, aboutName), now, now); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return read(place)
}

// read returns an image that was unpacked, or nil.
func read(place string) (*Image, error) {
	about := filepath.Join(place, aboutName)
	content, err := os.ReadFile(about)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	image := &Image{Dir: filepath.Join(place, filesName), Cache: filepath.Join(place, cacheName)}
	if err := json.Unmarshal(content, image); err != nil {
		return nil, fmt.Errorf("%s: %w", about, err)
	}
	return image, nil
}

// unpack unpacks an image beside its place, and moves it there when it is complete.
func (s *Store) unpack(found *remote.Descriptor, to string, directories []string) error {
	source, err := found.Image() // of a list, the one for this platform
	if err != nil {
		return response(err, "it is neither an image for linux/amd64 nor a list with one")
	}
	manifest, err := source.Manifest()
	if err != nil {
		return response(err, "its manifest is not valid")
	}
	if err := s.limits.check(manifest); err != nil {
		return err
	}
	config, err := source.ConfigFile()
	if err != nil {
		return fmt.Errorf("its configuration: %w", response(err, "it is not what the manifest describes"))
	}
	unfinished, err := s.unfinished()
	if err != nil {
		return err
	}
	defer os.RemoveAll(unfinished)
	size, err := s.layers(source, filepath.Join(unfinished, filesName), directories)
	if err != nil {
		return err
	}
	return finish(unfinished, to, Image{Digest: found.Digest.String(), Labels: config.Config.Labels, Size: size})
}

// layers unpacks the layers of an image into a directory, and returns the size of the files, with a block for each file and directory.
func (s *Store) layers(source v1.Image, into string, directories []string) (int64, error) {
	root, err := os.OpenRoot(into)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	layers, err := source.Layers()
	if err != nil {
		return 0, response(err, "its manifest is not valid")
	}
	u := newUnpacker(root, s.limits, directories)
	for _, layer := range layers {
		if err := u.layer(layer); err != nil {
			return 0, err
		}
	}
	return u.space, nil
}
