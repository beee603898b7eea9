package chart_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/provenance"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/ship/chart"
	"github.com/operon-framework/operon/internal/testing/testaid"
)

func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "operon-chart-")
	if err != nil {
		panic(err)
	}
	os.Setenv("OPERON_HOME", home)
	os.Unsetenv("SOURCE_DATE_EPOCH")
	code := m.Run()
	os.RemoveAll(home)
	os.Exit(code)
}

// source writes a chart.
func source(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "web")
	testaid.Write(t, filepath.Join(dir, "Chart.yaml"), "apiVersion: v2\nname: web\nversion: 1.2.0\nappVersion: 1.0.0\ndescription: Serves pages.\n")
	testaid.Write(t, filepath.Join(dir, "values.yaml"), "replicas: 1\n")
	testaid.Write(t, filepath.Join(dir, "templates/config.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	testaid.Write(t, filepath.Join(dir, ".helmignore"), "*.bak\n")
	testaid.Write(t, filepath.Join(dir, "old.bak"), "left out")
	return dir
}

func packaged(t *testing.T, o chart.PackageOptions) *chart.Packaged {
	t.Helper()
	made, err := chart.Package(o)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// The archive is what Helm reads, and the same whenever and wherever it is made.
func TestPackage(t *testing.T) {
	t.Parallel()
	to := filepath.Join(t.TempDir(), "new", "dist")
	made := packaged(t, chart.PackageOptions{Dir: source(t), Version: "2.0.0-rc.1", AppVersion: "2.0.0", To: to})
	loaded, err := loader.LoadFile(filepath.Join(to, "web-2.0.0-rc.1.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	if loaded.Metadata.Version != "2.0.0-rc.1" || loaded.Metadata.AppVersion != "2.0.0" || len(loaded.Templates) != 1 || loaded.Values["replicas"] != float64(1) {
		t.Errorf("the archive has %+v with %d templates and the values %v", loaded.Metadata, len(loaded.Templates), loaded.Values)
	}
	for _, file := range loaded.Files {
		if file.Name == "old.bak" {
			t.Error("the archive has a file that .helmignore excludes")
		}
	}
	sum := sha256.Sum256([]byte(testaid.Read(t, made.File)))
	if made.Digest != hex.EncodeToString(sum[:]) || made.Provenance != "" {
		t.Errorf("it says %+v, the digest is %x", made, sum)
	}
	again := packaged(t, chart.PackageOptions{Dir: source(t), Version: "2.0.0-rc.1", AppVersion: "2.0.0", To: t.TempDir()})
	if again.Digest != made.Digest {
		t.Error("a second archive of the same chart differs")
	}
	if left, err := filepath.Glob(filepath.Join(to, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// keyring writes a new secret key, encrypted if there is a passphrase.
func keyring(t *testing.T, passphrase string) string {
	t.Helper()
	key, err := openpgp.NewEntity("Release", "", "release@example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	var content bytes.Buffer
	if passphrase == "" {
		err = key.SerializePrivate(&content, nil)
	} else {
		if err := key.EncryptPrivateKeys([]byte(passphrase), nil); err != nil {
			t.Fatal(err)
		}
		err = key.SerializePrivateWithoutSigning(&content, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "keyring.gpg")
	if err := os.WriteFile(file, content.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Helm verifies the provenance file, which names the archive and its digest.
func TestProvenance(t *testing.T) {
	t.Parallel()
	for name, passphrase := range map[string]string{"a key without a passphrase": "", "an encrypted key": "sesame"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ring := keyring(t, passphrase)
			made := packaged(t, chart.PackageOptions{
				Dir: source(t), To: t.TempDir(), Key: "release@example.com", Keyring: ring, Passphrase: func(string) ([]byte, error) { return []byte("sesame"), nil },
			})
			verifier, err := provenance.NewFromKeyring(ring, "")
			if err != nil {
				t.Fatal(err)
			}
			archive, signature := []byte(testaid.Read(t, made.File)), []byte(testaid.Read(t, made.Provenance))
			if _, err := verifier.Verify(archive, signature, filepath.Base(made.File)); err != nil {
				t.Errorf("Helm does not verify it: %v", err)
			}
			archive[len(archive)-1]++
			if _, err := verifier.Verify(archive, signature, filepath.Base(made.File)); err == nil {
				t.Error("a changed archive is verified, too")
			}
		})
	}
}

func TestPackageRejects(t *testing.T) {
	t.Parallel()
	ring := keyring(t, "sesame")
	for name, test := range map[string]struct {
		change func(t *testing.T, o *chart.PackageOptions)
		want   string
	}{
		"a directory without a chart": {func(_ *testing.T, o *chart.PackageOptions) { o.Dir = filepath.Join(o.Dir, "templates") }, "has no Chart.yaml: name the directory of a chart"},
		"a version that is none":      {func(_ *testing.T, o *chart.PackageOptions) { o.Version = "one" }, `chart.metadata.version "one" is invalid`},
		"a dependency that is missing": {func(t *testing.T, o *chart.PackageOptions) {
			testaid.Edit(t, filepath.Join(o.Dir, "Chart.yaml"), "apiVersion: v2\n", "apiVersion: v2\ndependencies: [{name: db, version: 1.x}]\n")
		}, "requires the chart db, which is not in its directory charts"},
		"a keyring that is missing": {func(_ *testing.T, o *chart.PackageOptions) { o.Key, o.Keyring = "release", "nowhere" }, "read the keyring nowhere"},
		"an unknown key":            {func(_ *testing.T, o *chart.PackageOptions) { o.Key, o.Keyring = "other", ring }, `has no key "other"`},
		"no passphrase":             {func(_ *testing.T, o *chart.PackageOptions) { o.Key, o.Keyring = "release", ring }, "it is encrypted, and no passphrase is given"},
		"a wrong passphrase": {func(_ *testing.T, o *chart.PackageOptions) {
			o.Key, o.Keyring, o.Passphrase = "release", ring, func(string) ([]byte, error) { return []byte("open"), nil }
		}, "use the key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := chart.PackageOptions{Dir: source(t), To: t.TempDir()}
			test.change(t, &o)
			if _, err := chart.Package(o); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %s", err, test.want)
			}
			if left, err := os.ReadDir(o.To); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// indexOf reads an index as Helm does.
func indexOf(t *testing.T, file string) map[string][]struct {
	Version, Digest, Created string
	URLs                     []string
} {
	t.Helper()
	var read struct {
		APIVersion string
		Entries    map[string][]struct {
			Version, Digest, Created string
			URLs                     []string
		}
	}
	if err := yaml.Unmarshal([]byte(testaid.Read(t, file)), &read); err != nil || read.APIVersion != "v1" {
		t.Fatalf("the index has apiVersion %q, %v", read.APIVersion, err)
	}
	return read.Entries
}

// The index has the newest version first. Earlier versions stay, and unchanged ones keep their time.
func TestIndex(t *testing.T) {
	t.Parallel()
	dir, web := t.TempDir(), source(t)
	for _, version := range []string{"1.9.0", "1.10.0", "1.10.0-rc.1"} {
		packaged(t, chart.PackageOptions{Dir: web, Version: version, To: dir})
	}
	if _, err := chart.WriteIndex(chart.IndexOptions{Dir: dir, URL: "https://charts.example.com/"}); err != nil {
		t.Fatal(err)
	}
	first := indexOf(t, filepath.Join(dir, "index.yaml"))["web"]
	if len(first) != 3 || first[0].Version != "1.10.0" || first[1].Version != "1.10.0-rc.1" || first[0].URLs[0] != "https://charts.example.com/web-1.10.0.tgz" {
		t.Fatalf("the index has %+v", first)
	}
	next := t.TempDir()
	packaged(t, chart.PackageOptions{Dir: web, Version: "1.10.0", To: next})
	packaged(t, chart.PackageOptions{Dir: web, Version: "2.0.0", To: next})
	written, err := chart.WriteIndex(chart.IndexOptions{Dir: next, Merge: filepath.Join(dir, "index.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(written.Added, " ") + "; " + strings.Join(written.Kept, " "); got != "web-1.10.0 web-2.0.0; web-1.10.0-rc.1 web-1.9.0" {
		t.Errorf("it says %s", got)
	}
	second := indexOf(t, written.File)["web"]
	if len(second) != 4 || second[0].Version != "2.0.0" || second[0].URLs[0] != "web-2.0.0.tgz" || second[1].Created != first[0].Created || second[1].Digest == "" {
		t.Errorf("the merged index has %+v after %+v", second, first)
	}
}

func TestIndexRejects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := chart.WriteIndex(chart.IndexOptions{Dir: dir}); err == nil || !strings.Contains(err.Error(), "has no packaged charts") {
		t.Errorf("an empty directory: %v", err)
	}
	if _, err := chart.WriteIndex(chart.IndexOptions{Dir: dir + "/none"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	packaged(t, chart.PackageOptions{Dir: source(t), To: dir})
	for content, want := range map[string]string{"- a\n": "not the index of a chart repository", "apiVersion: v2\n": "want apiVersion v1", "apiVersion: v1\nentries: {web: [{name: web}]}\n": "of the chart web has no version"} {
		earlier := filepath.Join(t.TempDir(), "earlier.yaml")
		testaid.Write(t, earlier, content)
		if _, err := chart.WriteIndex(chart.IndexOptions{Dir: dir, Merge: earlier}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", content, err, want)
		}
	}
	testaid.Write(t, filepath.Join(dir, "broken-1.0.0.tgz"), "no archive")
	if _, err := chart.WriteIndex(chart.IndexOptions{Dir: dir}); err == nil || !strings.Contains(err.Error(), "broken-1.0.0.tgz: not a packaged chart") {
		t.Errorf("a broken archive: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "index.yaml")); err == nil {
		t.Error("an index was written in spite of errors")
	}
}

// A registry holds the chart in the form that Helm reads: its archive byte for byte, its metadata, and its signature.
func TestPush(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	to := strings.TrimPrefix(server.URL, "http://") + "/charts"
	made := packaged(t, chart.PackageOptions{Dir: source(t), Version: "1.2.0+build.3", To: t.TempDir(), Key: "release", Keyring: keyring(t, "")})
	pushed, err := chart.Push(t.Context(), made.File, "oci://"+to, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if pushed.Name != to+"/web:1.2.0_build.3" || !pushed.Signed {
		t.Errorf("it says %+v", pushed)
	}
	reference, err := name.ParseReference(pushed.Name)
	if err != nil {
		t.Fatal(err)
	}
	found, err := remote.Image(reference)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := found.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	var media []string
	for _, layer := range manifest.Layers {
		media = append(media, string(layer.MediaType))
	}
	if got := string(manifest.Config.MediaType) + " " + strings.Join(media, " "); got != "application/vnd.cncf.helm.config.v1+json "+
		"application/vnd.cncf.helm.chart.content.v1.tar+gzip application/vnd.cncf.helm.chart.provenance.v1.prov" {
		t.Errorf("the media types are %s", got)
	}
	if manifest.Annotations["org.opencontainers.image.title"] != "web" || manifest.Annotations["org.opencontainers.image.version"] != "1.2.0+build.3" {
		t.Errorf("the annotations are %v", manifest.Annotations)
	}
	if manifest.Layers[0].Digest.Hex != made.Digest {
		t.Errorf("the archive in the registry is %s, not %s", manifest.Layers[0].Digest.Hex, made.Digest)
	}
	config, err := found.RawConfigFile()
	var metadata struct{ Name, Version, AppVersion string }
	if err := json.Unmarshal(config, &metadata); err != nil || metadata.Name != "web" || metadata.AppVersion != "1.0.0" {
		t.Errorf("the metadata is %s, %v", config, err)
	}
	if err != nil {
		t.Error(err)
	}
	earlier := testaid.Read(t, made.Provenance)
	again := packaged(t, chart.PackageOptions{Dir: source(t), Version: "1.2.0+build.3", AppVersion: "9", To: filepath.Dir(made.File)})
	if _, err := os.Stat(made.Provenance); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the signature of an earlier archive stays: %v", err)
	}
	testaid.Write(t, made.Provenance, earlier)
	if _, err := chart.Push(t.Context(), again.File, to, func(string) {}); err == nil || !strings.Contains(err.Error(), ".prov is not for this archive") {
		t.Errorf("with the signature of an earlier archive: %v", err)
	}
	if err := os.Remove(again.File + ".prov"); err != nil {
		t.Fatal(err)
	}
	for what, call := range map[string][2]string{"not a packaged chart": {filepath.Join(source(t), "Chart.yaml"), to}, "want a path in a registry": {made.File, "https://" + to}} {
		if _, err := chart.Push(t.Context(), call[0], call[1], func(string) {}); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%q: %v, want %s", call, err, what)
		}
	}
}
