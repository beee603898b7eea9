// Package artifactstore stores files that steps of package durable produce, such as backups: in a directory, such
// as the mount path of a volume ([Directory]), or in an object store with an S3 API ([S3]). A file exists either
// completely or not at all, and Put replaces an existing file. A step that names its file by the key
// of its attempt can therefore be repeated safely.
package artifactstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Bucket stores files by name. A name consists of letters, digits and the characters .-_/ and cannot lead
// out of the bucket. The error for another name wraps fs.ErrInvalid.
type Bucket interface {
	// Put stores a file, or replaces an existing one. It reads content from its start, wherever its offset is.
	Put(ctx context.Context, name string, content io.ReadSeeker) error
	// Get opens a file, which the caller closes. If it does not exist, the error is fs.ErrNotExist.
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	// Delete removes a file. It is not an error if the file does not exist.
	Delete(ctx context.Context, name string) error
}

// nameError reports a name that no file can have.
type nameError string

func (e nameError) Error() string { return string(e) }

func (e nameError) Unwrap() error { return fs.ErrInvalid }

func invalid(format string, args ...any) error { return nameError(fmt.Sprintf(format, args...)) }

// check returns an error if a name is not valid.
func check(name string) error {
	for _, part := range strings.Split(name, "/") {
		if part == "" || part == "." || part == ".." || strings.HasSuffix(part, partial) {
			return invalid("%q is not a valid file name in a bucket", name)
		}
	}
	for _, r := range name {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_/", r) {
			return invalid("%q is not a valid file name in a bucket: %q may not be in it", name, r)
		}
	}
	return nil
}

// partial is the suffix of a file that is being written. Before it comes a number that no other writer has: a process that was frozen may continue to
// write when its successor does the same.
const partial = ".part"

// Directory is a bucket in an existing directory. Files are readable by their owner only.
type Directory string

// maxPart is the maximum length of each part of a name, in bytes. File systems allow 255; a file that is being written has a longer name.
const maxPart = 239

// Check returns an error if no file can have a name.
func (f Directory) Check(name string) error {
	for _, part := range strings.Split(name, "/") {
		if len(part) > maxPart {
			return invalid("%q is not a valid file name in a directory: it has %d characters between slashes, at most %d are possible", name, len(part), maxPart)
		}
	}
	return check(name)
}

// Put writes a file next to its final name, and renames it when it is complete and on disk. It removes what interrupted calls for the name have left.
func (f Directory) Put(ctx context.Context, name string, content io.ReadSeeker) error {
	if err := f.Check(name); err != nil {
		return err
	}
	if _, err := os.Stat(string(f)); err != nil {
		return fmt.Errorf("the directory of the bucket: %w", err)
	}
	path := filepath.Join(string(f), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*"+partial)
	if err != nil {
		return err
	}
	if err := write(ctx, file, content); err != nil {
		return errors.Join(err, remove(file.Name()))
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return errors.Join(sync(filepath.Dir(path)), removePartial(path))
}

// write writes and closes a file. When it returns, the content is on the disk.
func write(ctx context.Context, file *os.File, content io.Reader) error {
	_, err := io.Copy(file, reader{ctx, content})
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// sync writes the names in a directory to the disk.
func sync(directory string) error {
	file, err := os.Open(directory)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// removePartial removes what interrupted calls of Put for a path have left. What is being written for a longer name has more than a number
// after the path.
func removePartial(path string) error {
	files, err := os.ReadDir(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, file := range files {
		if name, cut := strings.CutSuffix(file.Name(), partial); cut && strings.TrimRight(name, "0123456789") == filepath.Base(path)+"." {
			err = errors.Join(err, remove(filepath.Join(filepath.Dir(path), file.Name())))
		}
	}
	return err
}

// reader stops reading when a context ends.
type reader struct {
	context.Context
	from io.Reader
}

// Read implements io.Reader.
func (r reader) Read(p []byte) (int, error) {
	if err := r.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(p)
}

// Get opens a file. The error is fs.ErrNotExist if no file has that name.
func (f Directory) Get(_ context.Context, name string) (io.ReadCloser, error) {
	if err := f.Check(name); err != nil {
		return nil, err
	}
	return os.Open(filepath.Join(string(f), filepath.FromSlash(name)))
}

// Delete removes a file, and the rest of an interrupted Put.
func (f Directory) Delete(_ context.Context, name string) error {
	if err := f.Check(name); err != nil {
		return err
	}
	path := filepath.Join(string(f), filepath.FromSlash(name))
	return errors.Join(remove(path), removePartial(path))
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
