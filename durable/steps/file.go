package steps

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/operon-framework/operon/durable"
)

// Files stores files. An artifactstore.Bucket implements it. An error that wraps fs.ErrInvalid reports that no file can
// have the name. If Files also has the method Check(name string) error, names are checked before anything is done.
//
// Put stores what it reads from content, which is at its start. It may seek back to the start to read it again.
type Files interface {
	Put(ctx context.Context, name string, content io.ReadSeeker) error
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	Delete(ctx context.Context, name string) error
}

// Save runs a command in a container and stores its standard output as a file. The step's key becomes part of the
// file's name, so that there is only one file even if the step is repeated. It returns the name of the file. The
// file exists either completely or not at all, and is deleted if the run is undone. Until the command has ended,
// its output is in a file in the operator's temporary directory.
//
// The operator needs the permissions of Exec.
func Save(name string, command Command, files Files, file string) durable.Step[string] {
	keyed := func(key string) string { return fmt.Sprintf("%s-%s", file, key) }
	if names, ok := files.(interface{ Check(name string) error }); ok {
		if err := names.Check(keyed(anyKey)); err != nil {
			return refusing[string](name, err)
		}
	}
	return durable.Step[string]{
		Name: name,
		Do: func(ctx context.Context, a *durable.Attempt) (string, error) {
			written, err := os.CreateTemp("", "operon-save-*") // readable by its owner only
			if err != nil {
				return "", err
			}
			defer written.Close()
			if err := os.Remove(written.Name()); err != nil { // now, so that it goes also if the process is killed
				return "", err
			}
			if _, err := command.run(ctx, a, nil, written); err != nil {
				return "", err
			}
			if _, err := written.Seek(0, io.SeekStart); err != nil {
				return "", err
			}
			return keyed(a.Key), invalidFails(files.Put(ctx, keyed(a.Key), written))
		},
		Undo: func(ctx context.Context, a *durable.Attempt, _ string) error {
			if err := files.Delete(ctx, keyed(a.Key)); !errors.Is(err, fs.ErrInvalid) {
				return err
			}
			return nil // no file can have the name
		},
	}
}

// invalidFails prevents further attempts with a name that no file can have.
func invalidFails(err error) error {
	if errors.Is(err, fs.ErrInvalid) {
		return durable.Fail(err)
	}
	return err
}

// Load runs a command in a container, with a file as its standard input.
//
// The operator needs the permissions of Exec.
func Load(name string, command Command, files Files, file string) durable.Step[Output] {
	return durable.Step[Output]{
		Name: name,
		Do: func(ctx context.Context, a *durable.Attempt) (Output, error) {
			content, err := files.Get(ctx, file)
			if err != nil {
				return Output{}, invalidFails(err)
			}
			defer content.Close()
			return command.run(ctx, a, content, nil)
		},
	}
}
