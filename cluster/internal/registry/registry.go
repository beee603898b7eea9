// Package registry is an image registry for one cluster that implements the OCI distribution specification. Docker, crane, ko
// and `operon build` push to it, and containerd pulls from it.
//
// All data is stored in files. An upload is written directly to disk. When it is complete and matches its digest, it is renamed
// to a blob with its digest as the name. Therefore no incomplete blobs exist, regardless of interruptions.
package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"
)

// Registry is a registry in a directory. It implements http.Handler.
type Registry struct {
	dir     string
	durable bool

	mu      sync.Mutex
	uploads map[string]*upload
}

// Open opens the registry in a directory, which it creates if necessary, and removes the incomplete uploads of an earlier run.
// If it is durable, its contents survive a power failure.
func Open(dir string, durable bool) (*Registry, error) {
	r := &Registry{dir: dir, durable: durable, uploads: map[string]*upload{}}
	if err := os.RemoveAll(r.file("uploads")); err != nil {
		return nil, err
	}
	for _, folder := range []string{"uploads", "blobs", "repositories"} {
		if err := os.MkdirAll(r.file(folder), 0o700); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *Registry) file(parts ...string) string {
	return filepath.Join(append([]string{r.dir}, parts...)...)
}

// handler handles one kind of request. The parts of the path are the repository and, if there is one, the target in it.
type handler func(r *Registry, w http.ResponseWriter, request *http.Request, repository, target string) error

const (
	// A component of a repository's name cannot begin with _, so it cannot be confused with a directory inside a repository.
	component  = `[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`
	repository = `(` + component + `(?:/` + component + `)*)`
	tag        = `[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}`
	sum        = `[a-z0-9]+:[a-zA-Z0-9]+`
	session    = `[A-Z2-7]+`
)

// longest is the maximum length of a repository's name.
const longest = 255

var routes = []struct {
	path    *regexp.Regexp
	methods map[string]handler
}{
	{regexp.MustCompile(`^/v2/?()()$`), map[string]handler{"GET": greet, "HEAD": greet}},
	{regexp.MustCompile(`^/v2/_catalog()()$`), map[string]handler{"GET": listRepositories}},
	{regexp.MustCompile(`^/v2/` + repository + `/blobs/uploads/?()$`), map[string]handler{"POST": beginUpload}},
	{regexp.MustCompile(`^/v2/` + repository + `/blobs/uploads/(` + session + `)$`), map[string]handler{
		"GET": tellUpload, "PATCH": continueUpload, "PUT": endUpload, "DELETE": cancelUpload,
	}},
	{regexp.MustCompile(`^/v2/` + repository + `/blobs/(` + sum + `)$`), map[string]handler{"GET": getBlob, "HEAD": getBlob}},
	{regexp.MustCompile(`^/v2/` + repository + `/manifests/(` + tag + `|` + sum + `)$`), map[string]handler{
		"GET": getManifest, "HEAD": getManifest, "PUT": putManifest,
	}},
	{regexp.MustCompile(`^/v2/` + repository + `/tags/list()$`), map[string]handler{"GET": listTags}},
	{regexp.MustCompile(`^/v2/` + repository + `/referrers/(` + sum + `)$`), map[string]handler{"GET": listReferrers}},
}

// ServeHTTP implements http.Handler.
func (r *Registry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	if err := r.serve(w, request); err != nil {
		answer(w, r.explain(err))
	}
}

func (r *Registry) serve(w http.ResponseWriter, request *http.Request) error {
	for _, route := range routes {
		parts := route.path.FindStringSubmatch(request.URL.Path)
		if parts == nil {
			continue
		}
		if len(parts[1]) > longest {
			return &Failure{http.StatusBadRequest, "NAME_INVALID", fmt.Sprintf("the name of a repository has at most %d characters", longest)}
		}
		handle, ok := route.methods[request.Method]
		if !ok {
			return &Failure{http.StatusMethodNotAllowed, "UNSUPPORTED", request.Method + " is not supported; the contents of this registry are deleted with the cluster"}
		}
		return handle(r, w, request, parts[1], parts[2])
	}
	return &Failure{http.StatusNotFound, "NAME_INVALID", fmt.Sprintf("%q is not a resource of a registry", request.URL.Path)}
}

func greet(_ *Registry, w http.ResponseWriter, _ *http.Request, _, _ string) error {
	return writeJSON(w, "application/json", struct{}{})
}

// Failure is an error response in the format of the specification.
type Failure struct {
	Status  int    `json:"-"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (f *Failure) Error() string { return f.Message }

// explain converts an error to a response.
func (r *Registry) explain(err error) *Failure {
	if failure := new(Failure); errors.As(err, &failure) {
		return failure
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &Failure{http.StatusBadRequest, "BLOB_UPLOAD_INVALID", err.Error()}
	}
	klog.ErrorS(err, "The registry could not answer")
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return &Failure{http.StatusInsufficientStorage, "DENIED", fmt.Sprintf("the disk of the cluster's registry, %s, is full: free space, or select another directory with OPERON_HOME or --data", r.dir)}
	}
	return &Failure{http.StatusInternalServerError, "UNKNOWN", err.Error()}
}

func answer(w http.ResponseWriter, f *Failure) {
	data, err := json.Marshal(map[string][]*Failure{"errors": {f}})
	if err != nil {
		http.Error(w, f.Message, f.Status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.Status)
	_, _ = w.Write(data) // the client may have disconnected
}

func writeJSON(w http.ResponseWriter, mediaType string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", mediaType)
	_, _ = w.Write(data) // the client may have disconnected
	return nil
}
