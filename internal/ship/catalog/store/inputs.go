package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/operon-framework/operon/internal/ship/catalog"
)

// inputsFile records which cache is that of the catalog's files.
const inputsFile = "inputs.json"

// inputs identify the files of a catalog.
type inputs struct {
	// Fingerprint changes when a file is written, moved or removed. It also changes when the files are copied.
	Fingerprint string `json:"fingerprint"`
	// Digest is that of the names and contents.
	Digest string `json:"digest"`
}

// fingerprint reads what the file system records about the files of a catalog, and the time when the last of them was modified.
func fingerprint(sources []string) (string, time.Time, error) {
	var newest time.Time
	sum := sha256.New()
	err := eachFile(sources, func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if info.ModTime().After(newest) {
			newest = info.ModTime()
		}
		file, err := identity(path)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(sum, "%q %d %d %s\n", path, info.Size(), info.ModTime().UnixNano(), file)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)), newest, err
}

// digest reads the files of a catalog.
func digest(sources []string) (string, error) {
	sum := sha256.New()
	_, err := io.WriteString(sum, magic)
	if err == nil {
		err = eachFile(sources, func(path string) error { return addFile(sum, path) })
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}

func addFile(sum hash.Hash, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(sum, "%q %d\n", path, info.Size()); err != nil {
		return err
	}
	if info.Size() > catalog.MaxFile {
		return nil // it is not read
	}
	_, err = io.Copy(sum, file)
	return err
}

func eachFile(sources []string, visit func(path string) error) error {
	for _, source := range sources {
		if err := catalog.Stream(source, catalog.Visitor{File: visit}); err != nil {
			return err
		}
	}
	return nil
}

// readInputs returns what a cache directory records, or nothing.
func readInputs(dir string) (inputs, error) {
	var recorded inputs
	content, err := os.ReadFile(filepath.Join(dir, inputsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return inputs{}, nil
	}
	if err != nil {
		return inputs{}, err
	}
	if json.Unmarshal(content, &recorded) != nil {
		return inputs{}, nil // an interrupted write: the cache is built again
	}
	return recorded, nil
}

func (i inputs) write(dir string) error {
	content, err := json.Marshal(i)
	if err != nil {
		return err
	}
	return replace(filepath.Join(dir, inputsFile), func(out io.Writer) error {
		_, err := out.Write(content)
		return err
	})
}

// readable is the mode of the files of a cache. It may be built as root, in an image, and read by another user; a catalog is not secret.
const readable = 0o644

// replace writes a file beside the old one, and then replaces that.
func replace(path string, write func(io.Writer) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), tempPrefix)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	err = errors.Join(write(file), file.Chmod(readable))
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
