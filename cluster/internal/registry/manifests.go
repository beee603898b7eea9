package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// largest is the maximum size of a manifest in bytes. The specification requires at least this size.
const largest = 4 << 20

// Directories in the directory of a repository. The file of a manifest contains its media type, and its contents are a blob.
// The file of a tag contains a digest.
const (
	manifestsIn = "_manifests"
	tagsIn      = "_tags"
)

// manifest is the manifest of an image or an index, in the OCI or Docker format.
type manifest struct {
	SchemaVersion int                  `json:"schemaVersion"`
	MediaType     string               `json:"mediaType"`
	ArtifactType  string               `json:"artifactType"`
	Config        *ocispec.Descriptor  `json:"config"`
	Layers        []ocispec.Descriptor `json:"layers"`
	Manifests     []ocispec.Descriptor `json:"manifests"`
	Subject       *ocispec.Descriptor  `json:"subject"`
	Annotations   map[string]string    `json:"annotations"`
}

func (r *Registry) manifest(repository string, d digest.Digest) string {
	return r.file("repositories", repository, manifestsIn, d.Encoded())
}

func (r *Registry) tag(repository, tag string) string {
	return r.file("repositories", repository, tagsIn, tag)
}

// resolve returns the digest for a tag or a digest.
func (r *Registry) resolve(repository, reference string) (digest.Digest, error) {
	if strings.Contains(reference, ":") {
		return parse(reference)
	}
	data, err := os.ReadFile(r.tag(repository, reference))
	if errors.Is(err, fs.ErrNotExist) {
		return "", unknown(repository, reference)
	}
	if err != nil {
		return "", err
	}
	return parse(string(data))
}

func unknown(repository, reference string) error {
	return &Failure{http.StatusNotFound, "MANIFEST_UNKNOWN", fmt.Sprintf("%s has no %s", repository, reference)}
}

func getManifest(r *Registry, w http.ResponseWriter, request *http.Request, repository, reference string) error {
	found, err := r.resolve(repository, reference)
	if err != nil {
		return err
	}
	mediaType, err := os.ReadFile(r.manifest(repository, found))
	if errors.Is(err, fs.ErrNotExist) {
		return unknown(repository, reference)
	}
	if err != nil {
		return err
	}
	data, err := os.ReadFile(r.blob(found))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", string(mediaType))
	w.Header().Set("Docker-Content-Digest", found.String())
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	if request.Method == http.MethodGet {
		_, _ = w.Write(data) // the client may have disconnected
	}
	return nil
}

// putManifest stores a manifest if everything that it lists exists, and then its tag.
func putManifest(r *Registry, w http.ResponseWriter, request *http.Request, repository, reference string) error {
	data, err := io.ReadAll(io.LimitReader(request.Body, largest+1))
	if err != nil {
		return invalid("it did not arrive: %v", err)
	}
	if len(data) > largest {
		return &Failure{http.StatusRequestEntityTooLarge, "MANIFEST_INVALID", fmt.Sprintf("a manifest has at most %d bytes", largest)}
	}
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return invalid("it is not the JSON of a manifest: %v", err)
	}
	mediaType, err := m.mediaType(request.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	if err := r.checkComplete(repository, m); err != nil {
		return err
	}
	is := digest.FromBytes(data)
	if strings.Contains(reference, ":") && reference != is.String() {
		return &Failure{http.StatusBadRequest, "DIGEST_INVALID", fmt.Sprintf("the manifest is %s, and not %s", is, reference)}
	}
	if err := r.keep(repository, reference, is, mediaType, data); err != nil {
		return err
	}
	if m.Subject != nil {
		w.Header().Set("Oci-Subject", m.Subject.Digest.String())
	}
	created(w, repository, "manifests", is)
	return nil
}

// keep writes the contents of a manifest before the files that refer to it.
func (r *Registry) keep(repository, reference string, is digest.Digest, mediaType string, data []byte) error {
	if err := r.write(r.blob(is), data); err != nil {
		return err
	}
	if err := r.write(r.manifest(repository, is), []byte(mediaType)); err != nil {
		return err
	}
	if reference == is.String() {
		return nil
	}
	return r.write(r.tag(repository, reference), []byte(is))
}

func invalid(format string, args ...any) error {
	return &Failure{http.StatusBadRequest, "MANIFEST_INVALID", "the manifest cannot be used: " + fmt.Sprintf(format, args...)}
}

// mediaType returns the media type of a manifest, from its sender or from the manifest itself.
func (m manifest) mediaType(said string) (string, error) {
	if m.SchemaVersion != 2 || m.Config == nil && m.Manifests == nil {
		return "", invalid("want an image or an index with schemaVersion 2")
	}
	if parsed, _, err := mime.ParseMediaType(said); err == nil {
		return parsed, nil
	}
	if m.MediaType == "" {
		return "", invalid("neither the Content-Type nor its mediaType states its type")
	}
	return m.MediaType, nil
}

// checkComplete returns an error if a manifest lists contents that were not uploaded. Layers with URLs are stored elsewhere.
func (r *Registry) checkComplete(repository string, m manifest) error {
	blobs := m.Layers
	if m.Config != nil {
		blobs = append(blobs, *m.Config)
	}
	for _, one := range blobs {
		if len(one.URLs) > 0 {
			continue
		}
		if err := r.checkThere(one.Digest, r.blob); err != nil {
			return err
		}
	}
	for _, one := range m.Manifests {
		err := r.checkThere(one.Digest, func(d digest.Digest) string { return r.manifest(repository, d) })
		if err != nil {
			return err
		}
	}
	if m.Subject == nil {
		return nil
	}
	_, err := parse(m.Subject.Digest.String())
	return err
}

func (r *Registry) checkThere(wanted digest.Digest, path func(digest.Digest) string) error {
	wanted, err := parse(wanted.String())
	if err != nil {
		return err
	}
	there, err := exists(path(wanted))
	if err == nil && !there {
		return &Failure{http.StatusBadRequest, "MANIFEST_BLOB_UNKNOWN", fmt.Sprintf("the manifest lists %s, which was not uploaded", wanted)}
	}
	return err
}
