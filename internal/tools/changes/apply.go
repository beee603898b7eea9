package changes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/operon-framework/operon/local"
)

// Apply makes the files hold what they should and returns those that it changed, in order. On an
// error, or when ctx ends first, the folder is as it was.
func (s *Set) Apply(ctx context.Context) ([]string, error) {
	stale, err := s.Stale()
	if err != nil || len(stale) == 0 {
		return nil, err
	}
	stage, err := newStage(s.dir)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.move(ctx, stage, stale), ctx.Err()); err != nil {
		return nil, errors.Join(err, stage.undo())
	}
	return stale, stage.remove()
}

// move stages all files, writes down how to undo what follows, and moves them into place.
func (s *Set) move(ctx context.Context, stage *stage, stale []string) error {
	var steps []step
	for i, path := range stale {
		step, err := stage.prepare(i, s.file(path), s.wanted[path].bytes)
		if err != nil {
			return err
		}
		steps = append(steps, step)
	}
	if err := stage.record(steps); err != nil {
		return err
	}
	for _, step := range steps {
		if err := errors.Join(ctx.Err(), step.do()); err != nil {
			return err
		}
	}
	return nil
}

// step is the change of one file. All paths are absolute.
type step struct {
	// Target is the file that changes.
	Target string
	// New is where its new content waits, "" when it is to go.
	New string
	// Old is where what it held is kept, "" when it was not there.
	Old string
	// Folders were made for it, the outermost first.
	Folders []string
}

// prepare stages what target is to hold, and keeps what it holds.
func (st *stage) prepare(number int, target string, wanted []byte) (step, error) {
	// A link stays a link: what it leads to is changed.
	if led, err := filepath.EvalSymlinks(target); err == nil {
		target = led
	}
	planned := step{Target: target, Folders: missing(filepath.Dir(target))}
	mode := fs.FileMode(0o644)
	info, err := os.Stat(target)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return planned, err
	}
	if err == nil {
		mode = info.Mode().Perm()
		planned.Old = st.path("old", number)
		if err := keep(target, planned.Old, mode); err != nil {
			return planned, err
		}
	}
	if wanted == nil {
		return planned, nil
	}
	planned.New = st.path("new", number)
	return planned, writeAs(planned.New, wanted, mode)
}

// missing are the folders that have to be made for dir, the outermost first.
func missing(dir string) []string {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
		return nil
	}
	return append(missing(filepath.Dir(dir)), dir)
}

// keep copies what a file holds. A second link would not do: who writes into the file writes into both.
func keep(file, to string, mode fs.FileMode) error {
	held, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return writeAs(to, held, mode)
}

// writeAs writes a file whose mode is not that which the umask leaves.
func writeAs(file string, holds []byte, mode fs.FileMode) error {
	if err := os.WriteFile(file, holds, mode); err != nil {
		return err
	}
	return os.Chmod(file, mode)
}

func (s step) do() error {
	for _, folder := range s.Folders {
		if err := os.Mkdir(folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if s.New == "" {
		return os.Remove(s.Target)
	}
	return os.Rename(s.New, s.Target)
}

// undo puts back what there was, wherever do came to.
func (s step) undo() error {
	err := s.restore()
	for i := len(s.Folders) - 1; i >= 0; i-- {
		_ = unix.Rmdir(s.Folders[i]) // what is no folder, or not empty, somebody else put there
	}
	return err
}

func (s step) restore() error {
	if _, err := os.Stat(s.New); s.New != "" && err == nil {
		return nil // it was never moved, so that the file is as it was
	}
	if s.Old == "" {
		return gone(os.Remove(s.Target))
	}
	return gone(os.Rename(s.Old, s.Target))
}

// gone forgives that a file is not there.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// stageName is the staging folder, in the folder that changes, so that files can be moved.
const stageName = ".operon-changes"

// stage is a staging folder, held by this process.
type stage struct {
	dir  string
	lock *local.Lock
}

// newStage makes the staging folder of dir.
func newStage(dir string) (*stage, error) {
	st := &stage{dir: filepath.Join(dir, stageName)}
	if err := os.Mkdir(st.dir, 0o755); err != nil {
		return nil, fmt.Errorf("nothing was changed: %w", err)
	}
	if err := st.hold(); err != nil {
		return nil, err
	}
	return st, errors.Join(os.Mkdir(filepath.Join(st.dir, "new"), 0o755), os.Mkdir(filepath.Join(st.dir, "old"), 0o755))
}

// recoverFrom undoes what a killed process left in dir.
func recoverFrom(dir string) error {
	st := &stage{dir: filepath.Join(dir, stageName)}
	if _, err := os.Stat(st.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := st.hold(); err != nil {
		return err
	}
	return st.undo()
}

// hold keeps other processes out until the stage is removed, or this process ends.
func (st *stage) hold() error {
	lock, err := local.TryLock(filepath.Join(st.dir, "lock"))
	if errors.Is(err, local.ErrLocked) {
		return fmt.Errorf("another operon is writing into %s: try again when it is done", filepath.Dir(st.dir))
	}
	st.lock = lock
	return err
}

func (st *stage) path(part string, number int) string {
	return filepath.Join(st.dir, part, strconv.Itoa(number))
}

// record writes the list of steps down, at once: from then on they can be undone by who finds it.
func (st *stage) record(steps []step) error {
	list, err := json.Marshal(steps)
	if err != nil {
		return err
	}
	if err := os.WriteFile(st.list()+".new", list, 0o644); err != nil {
		return err
	}
	return os.Rename(st.list()+".new", st.list())
}

func (st *stage) list() string { return filepath.Join(st.dir, "steps.json") }

// undo takes all steps back, the last first, and removes the staging folder.
func (st *stage) undo() error {
	steps, err := st.recorded()
	for i := len(steps) - 1; i >= 0; i-- {
		err = errors.Join(err, steps[i].undo())
	}
	if err != nil {
		return fmt.Errorf("what was there before is kept in %s: %w", st.dir, errors.Join(err, st.lock.Unlock()))
	}
	return st.remove()
}

// recorded are the steps that were about to be taken, none when it had not come to that.
func (st *stage) recorded() ([]step, error) {
	list, err := os.ReadFile(st.list())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var steps []step
	return steps, json.Unmarshal(list, &steps)
}

// remove removes the staging folder, the list first: without it nothing would be undone.
func (st *stage) remove() error {
	return errors.Join(gone(os.Remove(st.list())), os.RemoveAll(st.dir), st.lock.Unlock())
}
