// Package images reads bundles from their images in registries.
//
//	reader := &images.Reader{}
//	defer reader.Close()
//	bundle, err := reader.Read(ctx, "registry.example.com/web-bundle:1.2.0")
//
// Images are untrusted; see package pulled for what is checked. The credentials for registries are those of Docker and similar tools.
package images

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/internal/ship/image/pulled"
	"github.com/operon-framework/operon/internal/tools/changes"
)

// Is reports whether an argument is the name of an image, with its registry and a tag or digest, and not an existing file or directory.
func Is(argument string) bool {
	if _, err := os.Lstat(argument); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	host, path, found := strings.Cut(argument, "/")
	registry := host == "localhost" || strings.ContainsAny(host, ".:")
	return found && registry && !strings.HasPrefix(host, ".") && strings.ContainsAny(path[strings.LastIndex(path, "/")+1:], ":@")
}

// Open reads the only bundle below a directory, or that in an image. It fails if anything of it cannot be read.
func Open(ctx context.Context, argument string) (_ *bundle.Bundle, err error) {
	if Is(argument) {
		reader := &Reader{}
		defer func() { err = errors.Join(err, reader.Close()) }()
		return reader.Read(ctx, argument)
	}
	all, err := bundle.Open(argument)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("%s has %d bundles: name the directory of one", argument, len(all))
	}
	return all[0], nil
}

// Reader reads bundles from images. The zero value is ready for use. Close removes what it has fetched.
type Reader struct {
	scratch *image.Scratch
	store   *pulled.Store
}

// directories are the directories of a bundle.
var directories = []string{"manifests", "metadata", "tests"}

func (r *Reader) fetch(ctx context.Context, reference string) (*pulled.Image, error) {
	if r.scratch == nil {
		made, err := image.NewScratch(ctx)
		if err != nil {
			return nil, err
		}
		r.scratch = made
		r.store = pulled.New(filepath.Join(made.Folder(), "bundles"), pulled.DefaultLimits).For("", authn.DefaultKeychain)
	}
	fetched, err := r.store.Fetch(ctx, reference, directories...)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(fetched.Dir, "manifests")); err != nil {
		return nil, fmt.Errorf("image %s is not a bundle: it has no directory /manifests", reference)
	}
	return fetched, nil
}

// Read reads the bundle in an image. It fails if anything of it cannot be read.
func (r *Reader) Read(ctx context.Context, reference string) (*bundle.Bundle, error) {
	fetched, err := r.fetch(ctx, reference)
	if err != nil {
		return nil, err
	}
	all, err := bundle.Open(fetched.Dir)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", reference, fetched.Within(err))
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("image %s: want one bundle, got %d", reference, len(all))
	}
	all[0].Dir, all[0].FromImage = reference, reference
	return all[0], nil
}

// Split returns the arguments that are not images, and reads the bundles in those that are.
func (r *Reader) Split(ctx context.Context, arguments []string) (others []string, read []*bundle.Bundle, err error) {
	for _, argument := range arguments {
		if !Is(argument) {
			others = append(others, argument)
			continue
		}
		one, err := r.Read(ctx, argument)
		if err != nil {
			return nil, nil, err
		}
		read = append(read, one)
	}
	return others, read, nil
}

// Copied is a bundle that was written to a directory.
type Copied struct {
	Image string `json:"image"`
	// Digest is the digest of the image that the name had.
	Digest string `json:"digest"`
	Dir    string `json:"dir"`
	// Files are the files, relative to Dir.
	Files []string `json:"files"`
}

// Copy writes the files of the bundle in an image to a directory, which must be new or empty: all of them or none. The bundle may have
// mistakes.
func (r *Reader) Copy(ctx context.Context, reference, to string) (*Copied, error) {
	if has, err := os.ReadDir(to); err == nil && len(has) > 0 {
		return nil, fmt.Errorf("%s is not empty: want a new or empty directory", to)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	fetched, err := r.fetch(ctx, reference)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return nil, err
	}
	set, err := changes.In(to)
	if err != nil {
		return nil, err
	}
	files := os.DirFS(fetched.Dir)
	err = fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := fs.ReadFile(files, path)
		if err == nil {
			set.Write(path, content)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	written, err := set.Apply(ctx)
	return &Copied{Image: reference, Digest: fetched.Digest, Dir: to, Files: written}, err
}

// Close removes what was fetched.
func (r *Reader) Close() error {
	if r.scratch == nil {
		return nil
	}
	return r.scratch.Close()
}
