package pulled_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/operon-framework/operon/internal/ship/image/pulled"
)

// The files below the directories are unpacked, those of later layers over those of earlier ones, and everything else is left out.
func TestFetch(t *testing.T) {
	t.Parallel()
	reference := push(t,
		[]tar.Header{dir("manifests"), file("manifests/csv.yaml", "old"), file("manifests/gone.yaml", "x"), file("manifests/deep/a", "x"), file("etc/passwd", "x")},
		[]tar.Header{file("./manifests/csv.yaml", "new"), file("manifests/.wh.gone.yaml", ""), file("manifests/deep/.wh..wh..opq", ""), file("manifests/deep/b", "b"),
			file("/metadata/annotations.yaml", "m"), {Name: "usr/link", Linkname: "/etc", Typeflag: tar.TypeSymlink}},
	)
	at := t.TempDir()
	store := pulled.New(at, pulled.DefaultLimits)
	for range 2 {
		image, err := store.Fetch(t.Context(), reference, "manifests", "metadata")
		if err != nil {
			t.Fatal(err)
		}
		if got, want := files(t, image.Dir), "manifests/csv.yaml=new manifests/deep/b=b metadata/annotations.yaml=m"; got != want {
			t.Errorf("the files are %s, want %s", got, want)
		}
		if !strings.HasPrefix(image.Digest, "sha256:") || image.Labels["kind"] != "bundle" {
			t.Errorf("the image is %+v", image)
		}
	}
	if entries, err := os.ReadDir(at); err != nil || len(entries) != 1 {
		t.Errorf("the store has %v, error %v", entries, err)
	}
}

// A directory replaces a file of the layers below, but not one of its own layer.
func TestDirectoriesReplaceFiles(t *testing.T) {
	t.Parallel()
	below := []tar.Header{file("manifests/a", "x"), file("manifests/b", "x"), file("manifests/c", "x")}
	reference := push(t, below, []tar.Header{dir("manifests/a"), file("manifests/b/deep/new", "b")}, []tar.Header{file("manifests/b", "file")}, []tar.Header{file("manifests/b/again", "b")})
	image, err := pulled.New(t.TempDir(), pulled.DefaultLimits).Fetch(t.Context(), reference, "manifests")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := files(t, image.Dir), "manifests/b/again=b manifests/c=x"; got != want {
		t.Errorf("the files are %s, want %s", got, want)
	}
	reference = push(t, []tar.Header{file("manifests/a", "x"), file("manifests/a/b", "x")})
	if _, err := pulled.New(t.TempDir(), pulled.DefaultLimits).Fetch(t.Context(), reference, "manifests"); err == nil || !strings.Contains(err.Error(), "manifests/a/b: ") {
		t.Errorf("the error is %v", err)
	}
}

// A layer can also remove a whole directory, or one above it, with all that the layers below have in it. What it has itself stays.
func TestRemovedDirectories(t *testing.T) {
	t.Parallel()
	old := []tar.Header{dir("opt"), file("opt/configs/old.yaml", "x"), file("opt/configs/deep/old.yaml", "x"), file("opt/other/kept.yaml", "x")}
	for removes, want := range map[string]string{
		"opt/.wh.configs":            "opt/configs/deep/new.yaml=n opt/configs/new.yaml=n opt/other/kept.yaml=x",
		"opt/configs/.wh..wh..opq":   "opt/configs/deep/new.yaml=n opt/configs/new.yaml=n opt/other/kept.yaml=x",
		"opt/configs/.wh.deep":       "opt/configs/deep/new.yaml=n opt/configs/new.yaml=n opt/configs/old.yaml=x opt/other/kept.yaml=x",
		".wh.opt":                    "opt/configs/deep/new.yaml=n opt/configs/new.yaml=n",
		".wh..wh..opq":               "opt/configs/deep/new.yaml=n opt/configs/new.yaml=n",
		"opt/.wh..wh..opq":           "opt/configs/deep/new.yaml=n opt/configs/new.yaml=n",
		"opt/.wh.con":                "opt/configs/deep/new.yaml=n opt/configs/deep/old.yaml=x opt/configs/new.yaml=n opt/configs/old.yaml=x opt/other/kept.yaml=x",
		"opt/configs/.wh.new.yaml":   "opt/configs/deep/new.yaml=n opt/configs/deep/old.yaml=x opt/configs/new.yaml=n opt/configs/old.yaml=x opt/other/kept.yaml=x",
		"opt/configs/.wh.missing":    "opt/configs/deep/new.yaml=n opt/configs/deep/old.yaml=x opt/configs/new.yaml=n opt/configs/old.yaml=x opt/other/kept.yaml=x",
		"opt/elsewhere/.wh..wh..opq": "opt/configs/deep/new.yaml=n opt/configs/deep/old.yaml=x opt/configs/new.yaml=n opt/configs/old.yaml=x opt/other/kept.yaml=x",
	} {
		for _, last := range []bool{false, true} {
			next := []tar.Header{file(removes, ""), file("opt/configs/new.yaml", "n"), file("opt/configs/deep/new.yaml", "n")}
			if last { // the order in a layer has no meaning
				slices.Reverse(next)
			}
			image, err := pulled.New(t.TempDir(), pulled.DefaultLimits).Fetch(t.Context(), push(t, old, next), "opt/configs", "opt/other")
			if err != nil {
				t.Fatalf("%s: %v", removes, err)
			}
			if got := files(t, image.Dir); got != want {
				t.Errorf("%s: the files are %s, want %s", removes, got, want)
			}
		}
	}
}

// An image that is referenced by its digest is fetched once. The registry is not needed any more, also not by the next process.
func TestDigest(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	tag := server.push(t, "bundle:1", []tar.Header{file("manifests/x", "x")})
	at := t.TempDir()
	byTag, err := pulled.New(at, pulled.DefaultLimits).Fetch(t.Context(), tag, "manifests")
	if err != nil {
		t.Fatal(err)
	}
	server.Close()
	byDigest, err := pulled.New(at, pulled.DefaultLimits).Fetch(t.Context(), strings.TrimSuffix(tag, ":1")+"@"+byTag.Digest, "manifests")
	if err != nil || byDigest.Dir != byTag.Dir || byDigest.Labels["kind"] != "bundle" {
		t.Errorf("by the digest, the image is %+v, error %v, want %+v", byDigest, err, byTag)
	}
	if _, err := pulled.New(at, pulled.DefaultLimits).Fetch(t.Context(), tag, "manifests"); err == nil {
		t.Error("without a registry, the image of a tag is found")
	}
}

// The images that were not used for the longest time make room for others, and so does what a process that was killed has left.
func TestEviction(t *testing.T) {
	t.Parallel()
	server, at := newServer(t), t.TempDir()
	limits := pulled.DefaultLimits
	limits.Kept = 20_000 // two files of 100 bytes, with blocks for them and their directories
	store := pulled.New(at, limits)
	left := filepath.Join(at, ".unpack-1")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(left, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	var used []*pulled.Image
	for _, name := range []string{"a:1", "b:1", "a:1", "c:1"} {
		image, err := store.Fetch(t.Context(), server.push(t, name, []tar.Header{file("manifests/"+name[:1], strings.Repeat("x", 100))}), "manifests")
		if err != nil {
			t.Fatal(err)
		}
		used = append(used, image)
	}
	if got, want := files(t, used[0].Dir)+files(t, used[3].Dir), "manifests/a="; !strings.Contains(got, want) || !strings.Contains(got, "manifests/c=") {
		t.Errorf("the images that were used last have %s", got)
	}
	if entries, err := os.ReadDir(at); err != nil || len(entries) != 2 {
		t.Errorf("the store has %v, error %v, want two images", entries, err)
	}
}

// Images of different registries do not wait for each other.
func TestSlowRegistry(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-release
	}))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(release) })
	store := pulled.New(t.TempDir(), pulled.DefaultLimits)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := store.Fetch(ctx, strings.TrimPrefix(slow.URL, "http://")+"/slow:1", "manifests")
		ended <- err
	}()
	<-asked
	if _, err := store.Fetch(t.Context(), push(t, []tar.Header{file("manifests/x", "x")}), "manifests"); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the slow registry: %v", err)
	}
}

// What answers at an address that is no registry does not get into messages, and addresses of the machine's credentials are not asked.
func TestNoRegistry(t *testing.T) {
	t.Parallel()
	secret := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "secret: 4711", http.StatusForbidden)
	}))
	t.Cleanup(secret.Close)
	var noToken *httptest.Server
	noToken = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			fmt.Fprint(w, `{"secret": "4711"}`)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+noToken.URL+`/token"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(noToken.Close)
	noManifest := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "4711")
	}))
	t.Cleanup(noManifest.Close)
	store := pulled.New(t.TempDir(), pulled.DefaultLimits)
	for reference, want := range map[string]string{
		strings.TrimPrefix(secret.URL, "http://") + "/x:1":     "the registry answers with status 403 Forbidden",
		strings.TrimPrefix(noToken.URL, "http://") + "/x:1":    "the response is not that of a registry of images",
		strings.TrimPrefix(noManifest.URL, "http://") + "/x:1": "its manifest is not valid",
		"168.63.129.16/x:1":       "168.63.129.16 is no address of a registry",
		"100.100.100.200/x:1":     "100.100.100.200 is no address of a registry",
		"169.254.169.254/x:1":     "169.254.169.254 is no address of a registry",
		"[fe80::1]:443/x:1":       "",
		"[fd00:ec2::254]:443/x:1": "fd00:ec2::254 is no address of a registry",
	} {
		_, err := store.Fetch(t.Context(), reference, "manifests")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "4711") {
			t.Errorf("%s: the error is %v, want %s", reference, err, want)
		}
	}
}

// A hostile image is refused, and nothing of it stays.
func TestHostileImages(t *testing.T) {
	t.Parallel()
	small := pulled.Limits{Compressed: 1 << 20, File: 1000, Total: 10_000, Count: 30}
	for what, test := range map[string]struct {
		layer []tar.Header
		want  string
	}{
		"a symbolic link":    {[]tar.Header{{Name: "manifests/x", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}}, "manifests/x: it is neither a file nor a directory"},
		"a hard link":        {[]tar.Header{{Name: "manifests/x", Linkname: "etc/passwd", Typeflag: tar.TypeLink}}, "manifests/x: it is neither a file nor a directory"},
		"a device":           {[]tar.Header{{Name: "manifests/x", Typeflag: tar.TypeChar}}, "manifests/x: it is neither a file nor a directory"},
		"a large file":       {[]tar.Header{file("manifests/x", strings.Repeat("x", 1001))}, "manifests/x: it has 1001 bytes, more than 1000"},
		"many large files":   {many("manifests/x%d", strings.Repeat("x", 950), 11), "the files of the image have more than 10000 bytes"},
		"many files":         {many("x%d", "", 31), "the image has more than 30 files"},
		"many directories":   {[]tar.Header{file("manifests/"+strings.Repeat("d/", 30)+"x", "")}, "the image has more than 30 files"},
		"a large layer":      {[]tar.Header{file("a", strings.Repeat("x", 50_000))}, "the layers have more than 40000 bytes"},
		"many large layers":  {nil, "the layers have more than 40000 bytes"},
		"a file as a parent": {[]tar.Header{file("manifests/x", "x"), file("manifests/x/y", "y")}, "manifests/x/y"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			at := t.TempDir()
			store := pulled.New(at, small)
			layers := [][]tar.Header{test.layer}
			if test.layer == nil {
				layers = slices.Repeat([][]tar.Header{{file("a", strings.Repeat("x", 30_000))}}, 2)
			}
			_, err := store.Fetch(t.Context(), push(t, layers...), "manifests")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %s", err, test.want)
			}
			if entries, err := os.ReadDir(at); err != nil || len(entries) > 0 {
				t.Errorf("the store has %v, error %v: %s", entries, err, files(t, at))
			}
		})
	}
}

// A path that leads out of the directory stays in it.
func TestPathsStayInside(t *testing.T) {
	t.Parallel()
	store := pulled.New(t.TempDir(), pulled.DefaultLimits)
	image, err := store.Fetch(t.Context(), push(t, []tar.Header{file("../../manifests/x", "x"), file("manifests/../../etc/y", "y")}), "manifests")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := files(t, image.Dir), "manifests/x=x"; got != want {
		t.Errorf("the files are %s, want %s", got, want)
	}
}

func TestMissingImage(t *testing.T) {
	t.Parallel()
	store := pulled.New(t.TempDir(), pulled.DefaultLimits)
	for reference, want := range map[string]string{
		"not a reference": "image not a reference: could not parse reference",
		strings.TrimSuffix(push(t, nil), ":1") + ":2": "MANIFEST_UNKNOWN",
	} {
		if _, err := store.Fetch(t.Context(), reference, "manifests"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %s", reference, err, want)
		}
	}
}

// A registry on loopback cannot be reached from pods, and the message says so only there.
func TestLoopbackInPods(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	store := pulled.New(t.TempDir(), pulled.DefaultLimits)
	for _, where := range []struct {
		host string
		told bool
	}{{"", false}, {"198.18.0.1", true}} {
		t.Setenv("KUBERNETES_SERVICE_HOST", where.host)
		_, err := store.Fetch(t.Context(), closed+"/x:1", "manifests")
		if err == nil || strings.Contains(err.Error(), "in a pod, 127.0.0.1 is the pod itself") != where.told {
			t.Errorf("in a pod: %t, the error is %v", where.told, err)
		}
	}
}

func dir(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755} }

// file returns the entry of a file. The content is in Uname, which no test needs.
func file(name, content string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(content)), Uname: content}
}

// many returns entries of files with the same content.
func many(name, content string, count int) []tar.Header {
	var all []tar.Header
	for i := range count {
		all = append(all, file(fmt.Sprintf(name, i), content))
	}
	return all
}

// push pushes an image of layers to a registry of the test, and returns its reference.
func push(t *testing.T, layers ...[]tar.Header) string {
	t.Helper()
	return newServer(t).push(t, "bundle:1", layers...)
}

// server is a registry of a test.
type server struct{ *httptest.Server }

func newServer(t *testing.T) server {
	t.Helper()
	made := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(made.Close)
	return server{made}
}

func (s server) push(t *testing.T, to string, layers ...[]tar.Header) string {
	t.Helper()
	image, err := mutate.Config(empty.Image, v1.Config{Labels: map[string]string{"kind": "bundle"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, entries := range layers {
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(archive(entries)), nil })
		if err != nil {
			t.Fatal(err)
		}
		if image, err = mutate.AppendLayers(image, layer); err != nil {
			t.Fatal(err)
		}
	}
	reference, err := name.ParseReference(strings.TrimPrefix(s.URL, "http://") + "/" + to)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(reference, image); err != nil {
		t.Fatal(err)
	}
	return reference.String()
}

func archive(entries []tar.Header) io.Reader {
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	for _, entry := range entries {
		content := entry.Uname
		entry.Uname = ""
		if err := writer.WriteHeader(&entry); err != nil {
			panic(err) // the entries are written here
		}
		if _, err := io.WriteString(writer, content); err != nil {
			panic(err)
		}
	}
	if err := writer.Close(); err != nil {
		panic(err)
	}
	return &buffer
}

// files returns the files below a directory with their contents.
func files(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(place string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, place))
		all = append(all, fmt.Sprintf("%s=%s", path.Clean(place), content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}
