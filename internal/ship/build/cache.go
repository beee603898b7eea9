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

// cache holds the data of a project between builds, for one process at a time.
type cache struct {
	folder string
	store  *image.Store
	lock   *local.Lock
}

// openCache waits until no other process builds the project in dir.
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

// lockCache creates a cache directory if it does not exist, and waits for its lock.
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
		} // it was removed in the meantime, because its project no longer exists
	}
}

// program is a built program and its inputs.
type program struct {
	// Key is a hash of all inputs that are not files.
	Key     string
	Sources sources
	// Inputs are the hashes of the input files.
	Inputs map[string]string
	// Digest is the program's SHA-256, and Info the build information that its linker added.
	Digest, Info string
	Layer        image.Layer
	// Notices is the layer with licenses and notices. Licenses are SPDX expressions by module.
	Notices  image.Layer
	Licenses map[string]string
}

// load reads the last program for a platform. It returns an empty one if it cannot be read.
func (c *cache) load(target platform) program { return read(c.file(target)) }

func read(file string) program {
	var known program
	content, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(content, &known) != nil {
		return program{}
	}
	return known
}

// save stores the program in the cache.
func (c *cache) save(target platform, p program) error {
	content, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return image.WriteFile(c.file(target), 0o600, content)
}

// forget deletes the record of a program if a source changed during its build.
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

// tidy removes all blobs except those of the last image and of the last programs for all platforms.
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

// compiling is the prefix of the names of directories for compiled programs.
const compiling = "compile-"

// scratch creates a new directory to compile to. An existing one is never used, because the compiler of a killed run may
// still write to it.
func (c *cache) scratch() (string, error) { return os.MkdirTemp(c.folder, compiling) }

// sweep removes the remains of killed runs.
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
