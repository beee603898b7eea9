package pulled_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/ship/image/pulled"
)

// An image whose manifest is too large, or has wrong or too large sizes, is refused before any of its blobs is fetched.
func TestManifestLimits(t *testing.T) {
	t.Parallel()
	limits := pulled.DefaultLimits
	limits.Compressed = 1000
	manifest := func(config string, layers ...string) string {
		descriptor := `{"digest": "sha256:` + strings.Repeat("0", 64) + `", "size": `
		return `{"config": ` + descriptor + config + `}, "layers": [` + descriptor + strings.Join(layers, "}, "+descriptor) + `}]}`
	}
	for what, test := range map[string]struct{ manifest, want string }{
		"a large manifest":        {strings.Repeat(" ", 4<<20) + manifest("1", "1"), "a manifest has more than 4194304 bytes"},
		"a large configuration":   {manifest("4194305", "1"), "its configuration has 4194305 bytes in the manifest"},
		"an endless one":          {manifest("-1", "1"), "its configuration has -1 bytes in the manifest"},
		"large layers":            {manifest("1", "600", "401"), "its layers have more than 1000 bytes"},
		"an endless layer":        {manifest("1", "1", "-1"), "a layer has -1 bytes in the manifest"},
		"a layer that subtracts":  {manifest("1", "-600", "1001"), "a layer has -600 bytes in the manifest"},
		"layers beyond 64 bits":   {manifest("1", "9223372036854775807", "9223372036854775807", "2"), "its layers have more than 1000 bytes"},
		"a manifest with a limit": {manifest("4194304", "1000"), "its configuration: the registry answers with status 404"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/v2/x/manifests/1":
					http.Redirect(w, r, "/elsewhere", http.StatusFound)
				case "/elsewhere":
					w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
					fmt.Fprint(w, test.manifest)
				case "/v2/":
				default:
					if !strings.Contains(test.want, "404") {
						t.Errorf("%s is fetched", r.URL.Path)
					}
					w.WriteHeader(http.StatusNotFound)
				}
			}))
			t.Cleanup(registry.Close)
			_, err := pulled.New(t.TempDir(), limits).Fetch(t.Context(), strings.TrimPrefix(registry.URL, "http://")+"/x:1", "manifests")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %.300v, want %s", err, test.want)
			}
		})
	}
}

// Empty files and directories need space as well.
func TestEvictionOfEmptyFiles(t *testing.T) {
	t.Parallel()
	server, at := newServer(t), t.TempDir()
	limits := pulled.DefaultLimits
	limits.Kept = 50_000 // two images with five files and a directory
	for name, make := range map[string]func(name string) error{
		"fetched": func(name string) error {
			layer := append(many("manifests/%d", "", 5), file("etc/"+name, "")) // of an image with another digest
			_, err := pulled.New(at, limits).Fetch(t.Context(), server.push(t, name+":1", layer), "manifests")
			return err
		},
		"written": func(name string) error {
			_, err := pulled.New(at, limits).Write("served", func(dir string) (string, error) {
				for i := range 5 {
					if err := os.WriteFile(fmt.Sprintf("%s/%d", dir, i), nil, 0o600); err != nil {
						return "", err
					}
				}
				return "sha256:" + name, nil
			})
			return err
		},
	} {
		for _, one := range []string{"a", "b", "c"} {
			if err := make(name + one); err != nil {
				t.Fatal(err)
			}
		}
		if entries, err := os.ReadDir(at); err != nil || len(entries) != 2 {
			t.Errorf("%s: the store has %v, error %v, want two images", name, entries, err)
		}
	}
}
