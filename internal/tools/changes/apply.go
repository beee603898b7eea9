package changes

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// Apply writes the wanted contents to all stale files and returns these files, in order. On an error, or if ctx is
// canceled first, it restores the directory.
func (s *Set) Apply(ctx context.Context) ([]string, error) {
	stale, err := s.Stale()
	if err != nil || len(stale) == 0 {
		return nil, err
	}
	stage, err := newStage(s.dir)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.write(ctx, stage, stale), ctx.Err()); err != nil {
		return nil, errors.Join(err, stage.undo())
	}
	return stale, stage.remove()
}

// write records how to undo all steps, and executes them.
func (s *Set) write(ctx context.Context, stage *stage, stale []string) error {
	var steps []step
	for _, path := range stale {
		step, err := s.plan(stage.root, path)
		if err != nil {
			return err
		}
		steps = append(steps, step)
	}
	if err := stage.record(steps); err != nil {
		return err
	}
	for i, step := range steps {
		if err := errors.Join(ctx.Err(), step.do(stage.root, s.wanted[stale[i]].bytes)); err != nil {
			return err
		}
	}
	return nil
}

// step is the change of one file. All paths are relative to the root, so that no step can write outside of it.
type step struct {
	// Target is the file that changes.
	Target string
	// Part is a file in the directory of Target. It holds the new content until it is complete.
	Part string
	// New is the checksum of the new content. If it is empty, the file is removed.
	New []byte
	// Existed, Old and Mode describe the file before the change.
	Existed bool
	Old     []byte
	Mode    fs.FileMode
	// Dirs are the directories created for the file, the outermost first.
	Dirs []string
}

// plan returns the step that changes one file.
func (s *Set) plan(root *os.Root, name string) (step, error) {
	target, err := s.follow(name)
	if err != nil {
		return step{}, err
	}
	planned := step{
		Target: target,
		Part:   path.Join(path.Dir(target), ".operon-"+rand.Text()),
		Mode:   0o644,
		Dirs:   missing(root, path.Dir(target)),
	}
	if wanted := s.wanted[name].bytes; wanted != nil {
		planned.New = checksum(wanted)
	}
	info, err := root.Stat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return planned, nil
	}
	if err != nil {
		return planned, err
	}
	planned.Existed, planned.Mode = true, info.Mode().Perm()
	planned.Old, err = root.ReadFile(target)
	return planned, err
}

func checksum(content []byte) []byte {
	sum := sha256.Sum256(content)
	return sum[:]
}

// missing returns the directories to create for dir, the outermost first.
func missing(root *os.Root, dir string) []string {
	if _, err := root.Stat(dir); !errors.Is(err, fs.ErrNotExist) || dir == "." {
		return nil
	}
	return append(missing(root, path.Dir(dir)), dir)
}

func (s step) do(root *os.Root, content []byte) error {
	for _, dir := range s.Dirs {
		if err := root.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if s.New == nil {
		return root.Remove(s.Target)
	}
	return s.replace(root, content)
}

// replace writes the content to a file in the same directory and renames it, so that the target is never incomplete.
func (s step) replace(root *os.Root, content []byte) error {
	part, err := root.OpenFile(s.Part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, s.Mode)
	if err != nil {
		return err
	}
	_, err = part.Write(content)
	// The umask may have changed the mode.
	if err := errors.Join(err, part.Chmod(s.Mode), part.Sync(), part.Close()); err != nil {
		return err
	}
	return root.Rename(s.Part, s.Target)
}

// undo restores the file, wherever do stopped. It does not overwrite a file that was edited since then.
func (s step) undo(root *os.Root) error {
	err := errors.Join(gone(root.Remove(s.Part)), s.restore(root))
	for i := len(s.Dirs) - 1; i >= 0; i-- {
		info, missing := root.Lstat(s.Dirs[i])
		if missing == nil && info.IsDir() {
			_ = root.Remove(s.Dirs[i]) // fails if the directory is not empty, because it is in use
		}
	}
	return err
}

func (s step) restore(root *os.Root) error {
	done, err := s.done(root)
	if err != nil || !done {
		return err
	}
	if !s.Existed {
		return root.Remove(s.Target)
	}
	return s.replace(root, s.Old)
}

// done reports whether the target has the content that do writes.
func (s step) done(root *os.Root) (bool, error) {
	now, err := root.ReadFile(s.Target)
	if gone(err) == nil && err != nil {
		return s.New == nil, nil
	}
	return bytes.Equal(checksum(now), s.New), err
}

// gone returns nil if the error reports that a file does not exist, and any other error unchanged.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	return err
}
