package generate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/operon-framework/operon/internal/tools/changes"
	"github.com/operon-framework/operon/local"
)

// stamp tells what the last run in a project went by, and what came of it. Whatever it is about
// that is not as it was makes it stale; one that cannot be read is none.
type stamp struct {
	// Key is of everything that is in no file: the folder, the settings, this program, the go command.
	Key string
	// Written is when.
	Written time.Time
	// Folders hold sources outside the project that went in.
	Folders []string
	// Inputs are all files that went in, absolute.
	Inputs map[string]print
	// Outputs are the files that came out, absolute. One without a Sum is not to be there.
	Outputs map[string]print
	// Notes are those of the run.
	Notes []string
}

// The files of a stamp.
const (
	stampFile   = "stamp.json"
	listingFile = "packages.json"
)

// cache is where the stamp of a project is kept: "" keeps none.
type cache struct{ folder string }

func cacheOf(dir string) cache {
	folder, err := local.Folder("generate", sum([]byte(dir))[:16])
	if err != nil {
		return cache{} // the folder of Operon's state cannot be written: it takes longer, that is all
	}
	return cache{folder}
}

// load reads the stamp, an empty one where there is none that can be read.
func (c cache) load() *stamp {
	var kept stamp
	if c.read(stampFile, &kept) != nil {
		return &stamp{}
	}
	return &kept
}

func (c cache) read(name string, into any) error {
	content, err := os.ReadFile(filepath.Join(c.folder, name))
	if err != nil {
		return err
	}
	return json.Unmarshal(content, into)
}

// write replaces a file at once, so that nobody reads half of it.
func (c cache) write(name string, value any) error {
	content, err := json.Marshal(value)
	if err != nil {
		return err
	}
	part, err := os.CreateTemp(c.folder, name+".*")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name())
	_, err = part.Write(content)
	if closing := part.Close(); err != nil || closing != nil {
		return err
	}
	return os.Rename(part.Name(), filepath.Join(c.folder, name))
}

// save keeps a stamp, and the listings that the run went by where they are new. A stamp that cannot be kept is
// no error: the next run takes longer.
func (c cache) save(kept *stamp, listings []*listing) {
	if c.folder == "" {
		return
	}
	_ = os.Remove(filepath.Join(c.folder, stampFile)) // never a new listing with an old stamp
	if c.write(listingFile, listings) == nil {
		_ = c.write(stampFile, kept)
	}
}

// listings are those that the stamp's run went by.
func (c cache) listings() []*listing {
	var kept []*listing
	if c.read(listingFile, &kept) != nil {
		return nil
	}
	return kept
}

// seen is how all inputs look now.
type seen map[string]print

// look looks at all inputs.
func (s *stamp) look(dir string) (seen, error) {
	files, err := inputs(dir, s.Folders)
	if err != nil {
		return nil, err
	}
	now := seen{}
	for _, file := range files {
		if _, made := s.Outputs[file]; made {
			continue
		}
		if now[file], err = look(file, s.Inputs[file], s.Written); err != nil {
			return nil, err
		}
	}
	return now, nil
}

// fresh tells whether nothing changed.
func (s *stamp) fresh(key string, now seen) bool {
	if s.Key != key || len(now) != len(s.Inputs) {
		return false
	}
	for file, looks := range now {
		if s.Inputs[file].Sum != looks.Sum {
			return false
		}
	}
	for file, made := range s.Outputs {
		looks, err := look(file, made, s.Written)
		if made.Sum == "" && gone(err) {
			continue
		}
		if err != nil || looks.Sum != made.Sum {
			return false
		}
	}
	return true
}

// samePackages tells whether the packages and what they import are still those of the stamp.
func (s *stamp) samePackages(key string, now seen) bool {
	if s.Key != key || len(s.Inputs) == 0 {
		return false
	}
	if !s.sameCode() {
		return false
	}
	same := func(file string) bool {
		before, after := s.Inputs[file], now[file]
		if filepath.Ext(file) == ".go" {
			return before.Head != "" && before.Head == after.Head
		}
		return before.Sum == after.Sum
	}
	for _, all := range []map[string]print{s.Inputs, now} {
		for file := range all {
			if shapesModules(file) && !same(file) {
				return false
			}
		}
	}
	return true
}

// sameCode tells whether generated packages are as they were made. Deepcopy methods do not count: packages are
// loaded without them.
func (s *stamp) sameCode() bool {
	for file, made := range s.Outputs {
		if !isPackage(file) {
			continue
		}
		looks, err := look(file, made, s.Written)
		if err != nil && !gone(err) || looks.Sum != made.Sum {
			return false
		}
	}
	return true
}

// shapesModules tells files that decide which packages there are.
func shapesModules(file string) bool {
	return slices.Contains([]string{".go", ".mod", ".sum", ".work"}, filepath.Ext(file)) || filepath.Base(file) == "modules.txt"
}

// outputs look at what a set made.
func outputs(dir string, set *changes.Set) (map[string]print, error) {
	made := map[string]print{}
	for _, path := range set.Paths() {
		file := filepath.Join(dir, filepath.FromSlash(path))
		if _, wanted := set.Content(path); !wanted {
			made[file] = print{}
			continue
		}
		looks, err := look(file, print{}, time.Time{})
		if err != nil {
			return nil, err
		}
		made[file] = looks
	}
	return made, nil
}
