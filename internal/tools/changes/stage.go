package changes

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/operon-framework/operon/local"
)

// stage stores how to undo the changes of one directory, and is locked by this process. It is in Operon's state directory,
// because a list inside the project could be part of the project's repository.
type stage struct {
	dir, project string
	root         *os.Root
	lock         *local.Lock
}

// stageOf returns the stage of a directory. The stage need not exist.
func stageOf(project string) (*stage, error) {
	home, err := local.Home()
	if err != nil {
		return nil, err
	}
	sum := hex.EncodeToString(checksum([]byte(real(project))))
	return &stage{dir: filepath.Join(home, "changes", sum[:16]), project: project}, nil
}

// real resolves the links in the existing part of a directory's path.
func real(dir string) string {
	if led, err := filepath.EvalSymlinks(dir); err == nil {
		return led
	}
	return dir
}

// newStage creates the stage of a directory.
func newStage(project string) (*stage, error) {
	st, err := stageOf(project)
	if err != nil {
		return nil, err
	}
	if _, err := local.Folder("changes"); err != nil {
		return nil, err
	}
	if err := os.Mkdir(st.dir, 0o700); err != nil {
		return nil, fmt.Errorf("nothing was changed: %w", err)
	}
	return st, st.hold()
}

// recoverFrom undoes the changes that a killed process made in a directory.
func recoverFrom(project string) error {
	st, err := stageOf(project)
	if err != nil {
		return nil // without a state directory, nothing was ever recorded
	}
	if _, err := os.Lstat(st.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := st.hold(); err != nil {
		return err
	}
	return st.undo()
}

// hold locks the directory against other processes until the stage is removed or this process ends.
func (st *stage) hold() error {
	lock, err := local.TryLock(filepath.Join(st.dir, "lock"))
	if errors.Is(err, local.ErrLocked) {
		return fmt.Errorf("another operon is writing into %s: try again when it is done", st.project)
	}
	if err != nil {
		return err
	}
	st.lock = lock
	st.root, err = os.OpenRoot(st.project)
	if err != nil {
		return errors.Join(err, lock.Unlock())
	}
	return nil
}

// record writes the steps to disk before the first one is executed.
func (st *stage) record(steps []step) error {
	list, err := json.Marshal(steps)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(st.list()+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(list)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), st.list())
}

func (st *stage) list() string { return filepath.Join(st.dir, "steps.json") }

// undo reverts all steps, the last first, and removes the stage.
func (st *stage) undo() error {
	steps, err := st.recorded()
	for i := len(steps) - 1; i >= 0; i-- {
		err = errors.Join(err, steps[i].undo(st.root))
	}
	if err != nil {
		return fmt.Errorf("the previous files are kept in %s: %w", st.list(), errors.Join(err, st.close()))
	}
	return st.remove()
}

// recorded returns the recorded steps.
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

// remove removes the stage, the list first: without the list, nothing is undone.
func (st *stage) remove() error {
	return errors.Join(gone(os.Remove(st.list())), os.RemoveAll(st.dir), st.close())
}

func (st *stage) close() error { return errors.Join(st.root.Close(), st.lock.Unlock()) }
