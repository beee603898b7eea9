package registry

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"
)

// upload is a blob that is being uploaded.
type upload struct {
	mu   sync.Mutex // held by the writer
	file *os.File
	sum  hash.Hash
	size int64
	used time.Time // guarded by the registry's mu
}

// begin starts an upload, and removes abandoned uploads.
func (r *Registry) begin() (string, error) {
	id := rand.Text()
	file, err := os.OpenFile(r.file("uploads", id), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for other, u := range r.uploads {
		if time.Since(u.used) > timing.uploadExpiry && u.mu.TryLock() {
			err = errors.Join(err, r.forget(other, u))
			u.mu.Unlock()
		}
	}
	r.uploads[id] = &upload{file: file, sum: sha256.New(), used: time.Now()}
	return id, err
}

// forget removes an upload. The caller must hold both locks.
func (r *Registry) forget(id string, u *upload) error {
	delete(r.uploads, id)
	return errors.Join(u.file.Close(), os.Remove(u.file.Name()))
}

// claim prevents other requests from writing to an upload until giveBack is called.
func (r *Registry) claim(id string) (u *upload, giveBack func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	u, ok := r.uploads[id]
	if !ok {
		return nil, nil, &Failure{http.StatusNotFound, "BLOB_UPLOAD_UNKNOWN", "unknown upload: it ended or failed; start another one"}
	}
	if !u.mu.TryLock() {
		return nil, nil, &Failure{http.StatusConflict, "BLOB_UPLOAD_INVALID", "another request is writing to this upload"}
	}
	u.used = time.Now()
	return u, u.mu.Unlock, nil
}

// receive appends the body of a request to an upload. If that fails, the upload is removed.
func (r *Registry) receive(id string, u *upload, request *http.Request) error {
	n, err := io.Copy(io.MultiWriter(u.file, u.sum), request.Body)
	u.size += n
	if err == nil {
		return nil
	}
	return errors.Join(fmt.Errorf("an upload broke after %d bytes: %w", u.size, err), r.drop(id, u))
}

func (r *Registry) drop(id string, u *upload) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.forget(id, u)
}

// commit converts a completed upload to a blob.
func (r *Registry) commit(id string, u *upload, wanted digest.Digest) error {
	if got := digest.NewDigest(digest.SHA256, u.sum); got != wanted {
		failure := &Failure{http.StatusBadRequest, "DIGEST_INVALID", fmt.Sprintf("the uploaded content is %s, not %s", got, wanted)}
		return errors.Join(failure, r.drop(id, u))
	}
	there, err := r.has(wanted)
	if err == nil && !there {
		err = r.place(u.file, r.blob(wanted))
	}
	if err != nil || there {
		return errors.Join(err, r.drop(id, u))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.uploads, id)
	return nil
}

// beginUpload responds at once if the blob already exists in any repository.
func beginUpload(r *Registry, w http.ResponseWriter, request *http.Request, repository, _ string) error {
	query := request.URL.Query()
	if mounted, err := parse(query.Get("mount")); err == nil {
		there, err := r.has(mounted)
		if err != nil {
			return err
		}
		if there {
			created(w, repository, "blobs", mounted)
			return nil
		}
	}
	id, err := r.begin()
	if err != nil {
		return err
	}
	if query.Has("digest") {
		return endUpload(r, w, request, repository, id)
	}
	accepted(w, repository, id, 0, http.StatusAccepted)
	return nil
}

func tellUpload(r *Registry, w http.ResponseWriter, _ *http.Request, repository, id string) error {
	u, giveBack, err := r.claim(id)
	if err != nil {
		return err
	}
	defer giveBack()
	accepted(w, repository, id, u.size, http.StatusNoContent)
	return nil
}

func continueUpload(r *Registry, w http.ResponseWriter, request *http.Request, repository, id string) error {
	u, giveBack, err := r.claim(id)
	if err != nil {
		return err
	}
	defer giveBack()
	if err := u.check(request.Header.Get("Content-Range")); err != nil {
		return err
	}
	if err := r.receive(id, u, request); err != nil {
		return err
	}
	accepted(w, repository, id, u.size, http.StatusAccepted)
	return nil
}

// check returns an error if a chunk that states its position is not the next one.
func (u *upload) check(place string) error {
	if place == "" {
		return nil
	}
	var first, last int64
	if _, err := fmt.Sscanf(place, "%d-%d", &first, &last); err == nil && first == u.size {
		return nil
	}
	return &Failure{http.StatusRequestedRangeNotSatisfiable, "BLOB_UPLOAD_INVALID", fmt.Sprintf("a chunk of bytes %s cannot follow %d bytes", place, u.size)}
}

func endUpload(r *Registry, w http.ResponseWriter, request *http.Request, repository, id string) error {
	u, giveBack, err := r.claim(id)
	if err != nil {
		return err
	}
	defer giveBack()
	wanted, err := parse(request.URL.Query().Get("digest"))
	if err != nil {
		return errors.Join(err, r.drop(id, u))
	}
	if err := r.receive(id, u, request); err != nil {
		return err
	}
	if err := r.commit(id, u, wanted); err != nil {
		return err
	}
	created(w, repository, "blobs", wanted)
	return nil
}

func cancelUpload(r *Registry, w http.ResponseWriter, _ *http.Request, _, id string) error {
	u, giveBack, err := r.claim(id)
	if err != nil {
		return err
	}
	defer giveBack()
	if err := r.drop(id, u); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// accepted responds with the progress of an upload and the URL at which it continues.
func accepted(w http.ResponseWriter, repository, id string, size int64, status int) {
	w.Header().Set("Location", "/v2/"+repository+"/blobs/uploads/"+id)
	w.Header().Set("Docker-Upload-Uuid", id)
	w.Header().Set("Range", fmt.Sprintf("0-%d", max(size-1, 0)))
	w.WriteHeader(status)
}

func created(w http.ResponseWriter, repository, kind string, what digest.Digest) {
	w.Header().Set("Location", "/v2/"+repository+"/"+kind+"/"+what.String())
	w.Header().Set("Docker-Content-Digest", what.String())
	w.WriteHeader(http.StatusCreated)
}
