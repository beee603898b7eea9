package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/opencontainers/go-digest"
)

// parse parses a digest. Only one algorithm is supported, because files are named by the digest.
func parse(text string) (digest.Digest, error) {
	parsed, err := digest.Parse(text)
	if err != nil || parsed.Algorithm() != digest.SHA256 {
		return "", &Failure{http.StatusBadRequest, "DIGEST_INVALID", fmt.Sprintf("%q is not a digest; want sha256: and 64 hexadecimal digits", text)}
	}
	return parsed, nil
}

func (r *Registry) blob(d digest.Digest) string { return r.file("blobs", d.Encoded()) }

func (r *Registry) has(d digest.Digest) (bool, error) { return exists(r.blob(d)) }

func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// getBlob responds with a blob, a range of it, or its size. Blobs do not belong to a repository: a client that knows the digest
// already knows the contents.
func getBlob(r *Registry, w http.ResponseWriter, request *http.Request, _, target string) error {
	wanted, err := parse(target)
	if err != nil {
		return err
	}
	file, err := os.Open(r.blob(wanted))
	if errors.Is(err, fs.ErrNotExist) {
		return &Failure{http.StatusNotFound, "BLOB_UNKNOWN", fmt.Sprintf("there is no blob %s", wanted)}
	}
	if err != nil {
		return err
	}
	defer file.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Docker-Content-Digest", wanted.String())
	http.ServeContent(w, request, "", time.Time{}, file)
	return nil
}

// write creates or replaces a file atomically.
func (r *Registry) write(path string, data []byte) (err error) {
	file, err := os.CreateTemp(r.file("uploads"), "file-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close(), os.Remove(file.Name()))
		}
	}()
	if _, err := file.Write(data); err != nil {
		return err
	}
	return r.place(file, path)
}

// place closes a written file and moves it to its final path.
func (r *Registry) place(file *os.File, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if r.durable {
		if err := file.Sync(); err != nil {
			return err
		}
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return file.Close()
}
