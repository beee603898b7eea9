package build

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/internal/tools/glob"
	"github.com/operon-framework/operon/local"
)

// cache is what is kept of a project between builds, for one process at a time.
type cache struct {
	folder string
	store  *image.Store
	lock   *local.Lock
}

// openCache waits until nobody else builds the project in dir.
func openCache(ctx context.Context, dir string, waiting func()) (*cache, error) {
	folder, lock, err := lockCache(ctx, sum([]byte(dir))[:16], waiting)
	if err != nil {
		return nil, err
	}
	store, err := image.Open(filepath.Join(folder, "store"))
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	c := &cache{folder, store, lock}
	if err := errors.Join(c.sweep(), noteProject(folder, dir)); err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return c, nil
}

// lockCache makes a directory of caches, if need be, and waits for its lock.
func lockCache(ctx context.Context, name string, waiting func()) (string, *local.Lock, error) {
	waiting = sync.OnceFunc(waiting)
	for {
		folder, err := local.Folder("build", name)
		if err != nil {
			return "", nil, err
		}
		lock, err := local.WaitLock(ctx, filepath.Join(folder, lockFile), waiting)
		if !errors.Is(err, fs.ErrNotExist) {
			return folder, lock, err
		} // it was removed in the meantime, as that of a project that was gone
	}
}

// program is a program that was built, and what it was built from.
type program struct {
	// Key is of everything that is in no file.
	Key     string
	Sources sources
	// Inputs are the hashes of the files that went in.
	Inputs map[string]string
	// Digest is the program's SHA-256, Info what its linker wrote into it.
	Digest, Info string
	Layer        image.Layer
	// Notices is the layer of licenses and notices. Licenses are SPDX expressions by module.
	Notices  image.Layer
	Licenses map[string]string
}

// load reads what is known of the program for a platform: nothing where that cannot be read.
func (c *cache) load(target platform) program { return read(c.file(target)) }

func read(file string) program {
	var known program
	content, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(content, &known) != nil {
		return program{}
	}
	return known
}

// save keeps it.
func (c *cache) save(target platform, p program) error {
	content, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return writeWhole(c.file(target), content)
}

// writeWhole puts a file instead of what was there, once it is whole. The caller has the lock of its directory.
func writeWhole(file string, content []byte) error {
	part := file + ".part"
	if err := os.WriteFile(part, content, 0o600); err != nil {
		return err
	}
	return os.Rename(part, file)
}

// forget is for a program during whose build a source changed.
func (c *cache) forget(target platform) error {
	err := os.Remove(c.file(target))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (c *cache) file(target platform) string {
	return filepath.Join(c.folder, target.OS+"-"+target.Architecture+target.Variant+".json")
}

// tidy removes all blobs but those of the image that was built last, and programs for other platforms.
func (c *cache) tidy(built image.Image) error {
	files, err := glob.In(c.folder, "*.json")
	if err != nil {
		return err
	}
	var layers []v1.Descriptor
	for _, file := range files {
		kept := read(file)
		layers = append(layers, kept.Layer.Descriptor, kept.Notices.Descriptor)
	}
	return c.store.Keep(built, layers...)
}

// compiling begins the names of directories that programs are compiled to.
const compiling = "compile-"

// scratch is a new directory to compile to. It is none that was there before: the compiler of a run that was killed may be
// about to write there, and not what is compiled now.
func (c *cache) scratch() (string, error) { return os.MkdirTemp(c.folder, compiling) }

// sweep removes what runs left that were killed.
func (c *cache) sweep() error {
	left, err := glob.In(c.folder, compiling+"*")
	if err != nil {
		return err
	}
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}
