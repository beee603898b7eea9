package registry_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/operon-framework/operon/cluster/internal/registry"
)

// served is a registry under test.
type served struct {
	t    *testing.T
	dir  string
	url  string
	host string
	// writes counts the requests that upload data.
	writes atomic.Int64
}

func serve(t *testing.T, dir string) *served {
	t.Helper()
	r, err := registry.Open(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, dir: dir}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.Method != http.MethodGet && request.Method != http.MethodHead {
			s.writes.Add(1)
		}
		r.ServeHTTP(w, request)
	}))
	t.Cleanup(server.Close)
	s.url, s.host = server.URL, strings.TrimPrefix(server.URL, "http://")
	return s
}

func (s *served) tag(text string) name.Tag {
	s.t.Helper()
	tag, err := name.NewTag(s.host + "/" + text)
	if err != nil {
		s.t.Fatal(err)
	}
	return tag
}

// ask sends a request, and returns the response and its body.
func (s *served) ask(method, path string, body io.Reader, header ...string) (*http.Response, string) {
	s.t.Helper()
	request, err := http.NewRequest(method, s.url+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response, string(said)
}

// upload uploads a blob in one request.
func (s *served) upload(contents string) digest.Digest {
	s.t.Helper()
	is := digest.FromString(contents)
	if response, said := s.ask("POST", "/v2/web/blobs/uploads/?digest="+is.String(), strings.NewReader(contents)); response.StatusCode != http.StatusCreated {
		s.t.Fatalf("%s: %s", response.Status, said)
	}
	return is
}

// files lists the files in a directory of the registry, at any depth.
func (s *served) files(folder string) []string {
	s.t.Helper()
	var found []string
	err := filepath.WalkDir(filepath.Join(s.dir, folder), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}

// Images that go-containerregistry pushes, as crane, ko and `operon build` do, are pulled unchanged, even after a restart.
// Existing blobs are not uploaded again.
func TestImagesArePushedAndPulled(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir())
	image, err := random.Image(100_000, 3)
	if err != nil {
		t.Fatal(err)
	}
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: image})
	if err := errors.Join(remote.Write(s.tag("team/web:1"), image), remote.WriteIndex(s.tag("team/web:all"), index)); err != nil {
		t.Fatal(err)
	}
	again := serve(t, s.dir)
	pulled, err := remote.Image(again.tag("team/web:1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(pulled); err != nil {
		t.Error(err)
	}
	if want, err := image.Digest(); err != nil || digestOf(t, pulled) != want {
		t.Errorf("pulled %s, pushed %s, %v", digestOf(t, pulled), want, err)
	}
	if err := remote.Write(again.tag("team/web:2"), image); err != nil {
		t.Fatal(err)
	}
	if writes := again.writes.Load(); writes != 1 {
		t.Errorf("a second push of the same sent %d requests, want one, for the tag", writes)
	}
	tags, err := remote.List(again.tag("team/web:1").Repository)
	if err != nil || fmt.Sprint(tags) != "[1 2 all]" {
		t.Errorf("tags %q, %v", tags, err)
	}
	if catalog, err := remote.Catalog(t.Context(), again.tag("web:1").Registry); err != nil || fmt.Sprint(catalog) != "[team/web]" {
		t.Errorf("repositories %q, %v", catalog, err)
	}
	if left := again.files("uploads"); len(left) > 0 {
		t.Errorf("uploads left %q", left)
	}
}

func digestOf(t *testing.T, image v1.Image) v1.Hash {
	t.Helper()
	hash, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// Manifests that are attached to an image can be found through the image.
func TestReferrers(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir())
	image, err := random.Image(10, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(s.tag("web:1"), image); err != nil {
		t.Fatal(err)
	}
	subject, err := remote.Head(s.tag("web:1"))
	if err != nil {
		t.Fatal(err)
	}
	attached := mutate.Subject(mutate.ConfigMediaType(empty.Image, "text/modules"), *subject).(v1.Image)
	of := s.tag("web:1").Context()
	if err := remote.Write(of.Digest(digestOf(t, attached).String()), attached); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]int{"": 1, "text/modules": 1, "text/other": 0} {
		_, said := s.ask("GET", "/v2/web/referrers/"+subject.Digest.String()+"?artifactType="+kind, nil)
		var index ocispec.Index
		if err := json.Unmarshal([]byte(said), &index); err != nil || len(index.Manifests) != want {
			t.Errorf("of kind %q: %s, %v", kind, said, err)
		}
	}
}

// Images that containerd pushes, as nerdctl and ctr do, are stored.
func TestContainerdPushes(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir())
	hosts := docker.ConfigureDefaultRegistries(docker.WithPlainHTTP(docker.MatchLocalhost))
	pusher, err := docker.NewResolver(docker.ResolverOptions{Hosts: hosts}).Pusher(t.Context(), s.host+"/web:1")
	if err != nil {
		t.Fatal(err)
	}
	push := func(mediaType string, contents []byte) ocispec.Descriptor {
		descriptor := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(contents), Size: int64(len(contents))}
		w, err := pusher.Push(t.Context(), descriptor)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(contents); err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(t.Context(), descriptor.Size, descriptor.Digest); err != nil {
			t.Fatal(err)
		}
		return descriptor
	}
	config := push(ocispec.MediaTypeImageConfig, []byte("{}"))
	layer := push(ocispec.MediaTypeImageLayer, bytes.Repeat([]byte("layer"), 10_000))
	m, err := json.Marshal(ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, Config: config, Layers: []ocispec.Descriptor{layer}})
	if err != nil {
		t.Fatal(err)
	}
	push(ocispec.MediaTypeImageManifest, bytes.Replace(m, []byte(`"schemaVersion":0`), []byte(`"schemaVersion":2`), 1))
	if response, said := s.ask("HEAD", "/v2/web/manifests/1", nil); response.StatusCode != http.StatusOK {
		t.Errorf("%s: %s", response.Status, said)
	}
}

// Blobs can be uploaded in consecutive chunks, a range of a blob can be read, and an upload reports its progress.
func TestChunksAndRanges(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir())
	begun, _ := s.ask("POST", "/v2/web/blobs/uploads/", nil)
	at := begun.Header.Get("Location")
	for _, c := range []struct {
		method, place, body string
		status              int
		soFar               string
	}{
		{"PATCH", "0-4", "hello", http.StatusAccepted, "0-4"},
		{"PATCH", "9-10", "no", http.StatusRequestedRangeNotSatisfiable, ""},
		{"GET", "", "", http.StatusNoContent, "0-4"},
		{"PATCH", "5-10", " world", http.StatusAccepted, "0-10"},
	} {
		response, said := s.ask(c.method, at, strings.NewReader(c.body), "Content-Range", c.place)
		if response.StatusCode != c.status || response.Header.Get("Range") != c.soFar {
			t.Fatalf("%s %s: %s, range %q: %s", c.method, c.place, response.Status, response.Header.Get("Range"), said)
		}
	}
	is := digest.FromString("hello world")
	if response, said := s.ask("PUT", at+"?digest="+is.String(), nil); response.StatusCode != http.StatusCreated {
		t.Fatalf("%s: %s", response.Status, said)
	}
	if response, said := s.ask("GET", "/v2/web/blobs/"+is.String(), nil, "Range", "bytes=6-"); response.StatusCode != http.StatusPartialContent || said != "world" {
		t.Errorf("%s: %q", response.Status, said)
	}
	if response, _ := s.ask("POST", "/v2/other/blobs/uploads/?from=web&mount="+is.String(), nil); response.StatusCode != http.StatusCreated {
		t.Errorf("a blob that is there: %s", response.Status)
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir())
	config := s.upload("{}")
	missing := digest.FromString("missing").String()
	manifest := func(config string) string {
		return fmt.Sprintf(`{"schemaVersion": 2, "config": {"digest": %q}, "layers": []}`, config)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"PUT", "/v2/web/manifests/1", "garbage", 400, `"MANIFEST_INVALID","message":"the manifest cannot be used: it is not the JSON`},
		{"PUT", "/v2/web/manifests/1", "{}", 400, "want an image or an index"},
		{"PUT", "/v2/web/manifests/1", manifest(config.String()), 400, "states its type"},
		{"PUT", "/v2/web/manifests/1", manifest(missing), 400, "states its type"},
		{"PUT", "/v2/web/manifests/" + missing, strings.Repeat(" ", 5<<20), 413, "at most 4194304 bytes"},
		{"GET", "/v2/web/manifests/1", "", 404, "web has no 1"},
		{"GET", "/v2/web/manifests/" + missing, "", 404, "MANIFEST_UNKNOWN"},
		{"GET", "/v2/web/blobs/" + missing, "", 404, "there is no blob sha256:"},
		{"GET", "/v2/web/blobs/sha256:short", "", 400, "DIGEST_INVALID"},
		{"GET", "/v2/web/tags/list", "", 404, "nothing was pushed to web"},
		{"POST", "/v2/web/blobs/uploads/?digest=" + missing, "something else", 400, "not " + missing},
		{"PATCH", "/v2/web/blobs/uploads/NONE", "x", 404, "BLOB_UPLOAD_UNKNOWN"},
		{"DELETE", "/v2/web/blobs/" + missing, "", 405, "UNSUPPORTED"},
		{"GET", "/v2/../secret/blobs/" + missing, "", 404, "NAME_INVALID"},
		{"GET", "/v2/Upper/tags/list", "", 404, "NAME_INVALID"},
		{"GET", "/v2/" + strings.Repeat("a", 300) + "/tags/list", "", 400, "at most 255"},
	} {
		response, said := s.ask(c.method, c.path, strings.NewReader(c.body))
		if response.StatusCode != c.status || !strings.Contains(said, c.want) {
			t.Errorf("%s %.60s: %s: %s; want %d and %q", c.method, c.path, response.Status, said, c.status, c.want)
		}
	}
	typed := []string{"Content-Type", ocispec.MediaTypeImageManifest}
	if _, said := s.ask("PUT", "/v2/web/manifests/1", strings.NewReader(manifest(missing)), typed...); !strings.Contains(said, "MANIFEST_BLOB_UNKNOWN") {
		t.Errorf("a manifest whose config is not there: %s", said)
	}
	if _, said := s.ask("PUT", "/v2/web/manifests/"+missing, strings.NewReader(manifest(config.String())), typed...); !strings.Contains(said, "DIGEST_INVALID") {
		t.Errorf("a manifest of another digest: %s", said)
	}
	if named := s.files("repositories"); len(named) > 0 {
		t.Errorf("refused manifests left %q", named)
	}
	if left := s.files("uploads"); len(left) > 0 {
		t.Errorf("refused uploads left %q", left)
	}
}

// If the sender of an upload disconnects, neither an incomplete blob nor a file remains.
func TestBrokenUpload(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir())
	begun, _ := s.ask("POST", "/v2/web/blobs/uploads/", nil)
	conn, err := net.Dial("tcp", s.host)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "PATCH %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 100\r\n\r\nhalf", begun.Header.Get("Location"), s.host)
	await(t, "half of it to be written", func() bool {
		files := s.files("uploads")
		info, err := os.Stat(files[0])
		return err == nil && info.Size() == 4
	})
	conn.Close()
	await(t, "the upload to be gone", func() bool { return len(s.files("uploads")) == 0 })
	if left := s.files("blobs"); len(left) > 0 {
		t.Errorf("left %q", left)
	}
	if response, _ := s.ask("GET", begun.Header.Get("Location"), nil); response.StatusCode != http.StatusNotFound {
		t.Errorf("of the broken upload it says %s", response.Status)
	}
}

// await waits for a change of a file, for which there is no event.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !is(); {
		if time.Now().After(until) {
			t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// Uploads that were incomplete when the registry ended in any way are removed.
func TestLeftUploadsAreCleared(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir())
	begun, _ := s.ask("POST", "/v2/web/blobs/uploads/", nil)
	s.ask("PATCH", begun.Header.Get("Location"), strings.NewReader("half"))
	if before := s.files("uploads"); len(before) != 1 {
		t.Fatalf("while it goes on there is %q", before)
	}
	if left := serve(t, s.dir).files("uploads"); len(left) > 0 {
		t.Errorf("left %q", left)
	}
	if info, err := os.Stat(filepath.Join(s.dir, "blobs")); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may look into the directory: %v, %v", info.Mode(), err)
	}
}
