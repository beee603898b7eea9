package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// listRepositories lists the repositories that contain pushed images, for users.
func listRepositories(r *Registry, w http.ResponseWriter, request *http.Request, _, _ string) error {
	names := []string{}
	top := r.file("repositories")
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != manifestsIn {
			return err
		}
		name, err := filepath.Rel(top, filepath.Dir(path))
		names = append(names, filepath.ToSlash(name))
		if err != nil {
			return err
		}
		return fs.SkipDir
	})
	if err != nil {
		return err
	}
	slices.Sort(names)
	names, err = page(names, request)
	if err != nil {
		return err
	}
	return writeJSON(w, "application/json", map[string]any{"repositories": names})
}

func listTags(r *Registry, w http.ResponseWriter, request *http.Request, repository, _ string) error {
	there, err := exists(r.file("repositories", repository, manifestsIn))
	if err != nil {
		return err
	}
	if !there {
		return &Failure{http.StatusNotFound, "NAME_UNKNOWN", fmt.Sprintf("nothing was pushed to %s", repository)}
	}
	tags, err := entries(r.file("repositories", repository, tagsIn))
	if err != nil {
		return err
	}
	tags, err = page(tags, request)
	if err != nil {
		return err
	}
	return writeJSON(w, "application/json", map[string]any{"name": repository, "tags": tags})
}

// entries lists a directory by name. The directory may not exist.
func entries(folder string) ([]string, error) {
	names := []string{}
	found, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, entry := range found {
		names = append(names, entry.Name())
	}
	return names, nil
}

// page returns the requested part of a sorted list: n entries after last.
func page(list []string, request *http.Request) ([]string, error) {
	query := request.URL.Query()
	begin, found := slices.BinarySearch(list, query.Get("last"))
	if found {
		begin++
	}
	list = list[begin:]
	if !query.Has("n") {
		return list, nil
	}
	n, err := strconv.Atoi(query.Get("n"))
	if err != nil || n < 0 {
		return nil, &Failure{http.StatusBadRequest, "PAGINATION_NUMBER_INVALID", fmt.Sprintf("n=%s: want a number", query.Get("n"))}
	}
	return list[:min(n, len(list))], nil
}

// listReferrers lists the manifests that are attached to a manifest, such as an SBOM.
func listReferrers(r *Registry, w http.ResponseWriter, request *http.Request, repository, target string) error {
	subject, err := parse(target)
	if err != nil {
		return err
	}
	names, err := entries(r.file("repositories", repository, manifestsIn))
	if err != nil {
		return err
	}
	index := ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{},
	}
	kind := request.URL.Query().Get("artifactType")
	if kind != "" {
		w.Header().Set("Oci-Filters-Applied", "artifactType")
	}
	for _, name := range names {
		descriptor, of, err := r.describe(repository, digest.NewDigestFromEncoded(digest.SHA256, name))
		if err != nil {
			return err
		}
		if of == subject && (kind == "" || kind == descriptor.ArtifactType) {
			index.Manifests = append(index.Manifests, descriptor)
		}
	}
	return writeJSON(w, ocispec.MediaTypeImageIndex, index)
}

// describe returns the descriptor of a manifest, and the digest of the manifest to which it is attached, if any.
func (r *Registry) describe(repository string, is digest.Digest) (ocispec.Descriptor, digest.Digest, error) {
	mediaType, err := os.ReadFile(r.manifest(repository, is))
	if err != nil {
		return ocispec.Descriptor{}, "", err
	}
	data, err := os.ReadFile(r.blob(is))
	if err != nil {
		return ocispec.Descriptor{}, "", err
	}
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return ocispec.Descriptor{}, "", fmt.Errorf("manifest %s: %w", is, err)
	}
	if m.Subject == nil {
		return ocispec.Descriptor{}, "", nil
	}
	kind := m.ArtifactType
	if kind == "" && m.Config != nil {
		kind = m.Config.MediaType
	}
	return ocispec.Descriptor{
		MediaType: string(mediaType), Digest: is, Size: int64(len(data)), ArtifactType: kind, Annotations: m.Annotations,
	}, m.Subject.Digest, nil
}
