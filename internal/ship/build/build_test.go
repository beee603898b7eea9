package build_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"github.com/operon-framework/operon/internal/ship/build"
	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/internal/testing/testaid"
)

// buildsProject is an environment variable with a project. If it is set, this binary builds the project and prints its
// progress, instead of testing.
const buildsProject = "OPERON_TEST_BUILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(buildsProject); dir != "" {
		if _, err := build.Run(context.Background(), dir, build.Options{Tell: func(doing string) { fmt.Println(doing) }}); err != nil {
			panic(err)
		}
		fmt.Println("built")
		time.Sleep(time.Hour) // until it is killed; the lock is held, as while an image is delivered
	}
	home, err := os.MkdirTemp("", "operon-build-")
	if err != nil {
		panic(err)
	}
	os.Setenv("OPERON_HOME", home)
	os.Unsetenv("SOURCE_DATE_EPOCH")
	code := m.Run()
	os.RemoveAll(home)
	os.Exit(code)
}

// project writes a small project with a dependency and an embedded file.
func project(t *testing.T) string {
	t.Helper()
	sums, err := os.ReadFile("../../../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "web [1]") // must not be read as a pattern
	write(t, dir, "go.mod", "module github.com/someone/web\n\ngo 1.26.0\n\nrequire "+line(t, mod, "golang.org/x/sync ")+"\n")
	write(t, dir, "go.sum", lines(sums, "golang.org/x/sync "))
	write(t, dir, "main.go", `package main

import (
	_ "embed"
	"os"

	"golang.org/x/sync/singleflight"
)

//go:embed text/a.txt
var text string

func main() {
	var group singleflight.Group
	_, err, _ := group.Do(text, func() (any, error) { return os.Stdout.WriteString(text) })
	if err != nil {
		os.Exit(1)
	}
}
`)
	write(t, dir, "text/a.txt", "hello")
	write(t, dir, "NOTICE", "made by someone")
	return dir
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// line returns the first line of a file that begins with a text, without surrounding whitespace.
func line(t *testing.T, content []byte, start string) string {
	t.Helper()
	for text := range strings.Lines(string(content)) {
		if text = strings.TrimSpace(text); strings.HasPrefix(text, start) {
			return text
		}
	}
	t.Fatalf("no line begins with %q", start)
	return ""
}

func lines(content []byte, start string) string {
	var found strings.Builder
	for text := range strings.Lines(string(content)) {
		if strings.HasPrefix(text, start) {
			found.WriteString(text)
		}
	}
	return found.String()
}

// git runs git in dir, as a test user.
func git(t *testing.T, dir string, arguments ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=test", "-c", "user.email=test@example.com"}, arguments...)...)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", arguments, err, output)
	}
}

// committed creates a repository with a project.
func committed(t *testing.T) string {
	t.Helper()
	dir := project(t)
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "first")
	return dir
}

// signed adds a commit with a header that looks like a signature.
func signed(t *testing.T, dir string) {
	t.Helper()
	tools := t.TempDir()
	testaid.Program(t, filepath.Join(tools, "sign"), "#!/bin/sh\ncat >/dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\necho -----BEGIN PGP SIGNATURE-----\n")
	git(t, dir, "-c", "gpg.program="+filepath.Join(tools, "sign"), "commit", "--allow-empty", "-S", "-qm", "signed")
}

// made is a built image in a separate OCI layout.
type made struct {
	*build.Result
	dir string
}

func built(t *testing.T, dir string, o build.Options) made {
	t.Helper()
	result, err := build.Run(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	name, err := image.ParseName("web")
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if _, err := result.Store.Deliver(t.Context(), name, result.Image, image.Delivery{Layout: to}); err != nil {
		t.Fatal(err)
	}
	return made{result, to}
}

// blob returns the content of a blob.
func (m made) blob(t *testing.T, digest v1.Hash) []byte {
	t.Helper()
	content, err := layout.Path(m.dir).Bytes(digest)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// files returns all files in the image for the first platform, with their contents.
func (m made) files(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	m.each(t, func(name string, file io.Reader) error {
		content, err := io.ReadAll(file)
		found[name] = string(content)
		return err
	})
	return found
}

// each calls a function for each file of the layers.
func (m made) each(t *testing.T, call func(name string, file io.Reader) error) {
	t.Helper()
	for _, layer := range m.Platforms[0].Layers {
		plain, err := gzip.NewReader(bytes.NewReader(m.blob(t, layer.Digest)))
		if err != nil {
			t.Fatal(err)
		}
		for archive := tar.NewReader(plain); ; {
			header, err := archive.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil {
				err = call(header.Name, archive)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (m made) config(t *testing.T) *v1.ConfigFile {
	t.Helper()
	manifest, err := v1.ParseManifest(bytes.NewReader(m.blob(t, m.Platforms[0].Image.Digest)))
	if err != nil {
		t.Fatal(err)
	}
	config, err := v1.ParseConfigFile(bytes.NewReader(m.blob(t, manifest.Config.Digest)))
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func TestOneCommitGivesOneImageWhereverItIsBuilt(t *testing.T) {
	t.Parallel()
	origin := committed(t)
	signed(t, origin)
	var found []made
	for _, name := range []string{"here", "somewhere/else"} {
		clone := filepath.Join(t.TempDir(), name)
		git(t, origin, "clone", "-q", origin, clone)
		git(t, clone, "remote", "set-url", "origin", "https://user:opensesame@example.com/"+name)
		git(t, clone, "config", "log.showSignature", fmt.Sprint(name != "here"))
		one := built(t, clone, build.Options{Version: "1.2.3"})
		if one.Platforms[0].Reused {
			t.Errorf("%s was not built", clone)
		}
		for name, content := range one.files(t) {
			for _, secret := range []string{"opensesame", clone, origin} {
				if strings.Contains(content, secret) {
					t.Errorf("%s holds %q", name, secret)
				}
			}
		}
		found = append(found, one)
	}
	if found[0].Image.Descriptor.Digest != found[1].Image.Descriptor.Digest || found[0].Platforms[0].SBOM.Digest != found[1].Platforms[0].SBOM.Digest {
		t.Errorf("the images are %s and %s, the lists of modules %s and %s", found[0].Image.Descriptor.Digest, found[1].Image.Descriptor.Digest,
			found[0].Platforms[0].SBOM.Digest, found[1].Platforms[0].SBOM.Digest)
	}
}

func TestWhatIsInAnImage(t *testing.T) {
	t.Parallel()
	dir := committed(t)
	one := built(t, dir, build.Options{Version: "1.2.3", Labels: map[string]string{"team": "a"}, By: "1"})
	var names []string
	for name := range one.files(t) {
		names = append(names, name)
	}
	slices.Sort(names)
	// The complete list: no shell, and nothing that could contain a secret.
	const doc = "usr/share/doc/web/"
	want := []string{
		"etc/", "etc/group", "etc/passwd", "etc/ssl/", "etc/ssl/certs/", "etc/ssl/certs/ca-certificates.crt", "manager", "tmp/",
		"usr/", "usr/share/", "usr/share/doc/", doc, doc + "github.com/", doc + "github.com/someone/", doc + "github.com/someone/web/",
		doc + "github.com/someone/web/NOTICE", doc + "golang.org/", doc + "golang.org/x/", doc + "golang.org/x/sync/",
		doc + "golang.org/x/sync/LICENSE", doc + "golang.org/x/sync/PATENTS", doc + "std/", doc + "std/LICENSE",
	}
	if !slices.Equal(names, want) {
		t.Errorf("holds %q", names)
	}
	config := one.config(t)
	if config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{"/manager"}) || len(config.Config.Env) > 0 || config.OS != "linux" {
		t.Errorf("%+v", config)
	}
	labels := config.Config.Labels
	created := labels["org.opencontainers.image.created"]
	if labels["org.opencontainers.image.title"] != "web" || len(labels["org.opencontainers.image.revision"]) != 40 || labels["team"] != "a" ||
		labels["org.opencontainers.image.source"] != "https://github.com/someone/web" || labels["org.opencontainers.image.version"] != "1.2.3" || created < "2020" {
		t.Errorf("%q", labels)
	}
	for _, what := range []string{"golang.org/x/sync", "stdlib", "Tool: operon-1", created, `"licenseDeclared": "BSD-3-Clause"`} {
		if !strings.Contains(one.modules(t), what) {
			t.Errorf("the list of modules has no %s", what)
		}
	}
	runs(t, one.files(t)["manager"])
}

// modules returns the attached document.
func (m made) modules(t *testing.T) string {
	t.Helper()
	manifest, err := v1.ParseManifest(bytes.NewReader(m.blob(t, m.Platforms[0].SBOM.Digest)))
	if err != nil {
		t.Fatal(err)
	}
	if manifest.Subject.Digest != m.Platforms[0].Image.Digest {
		t.Errorf("it is attached to %s", manifest.Subject.Digest)
	}
	return string(m.blob(t, manifest.Layers[0].Digest))
}

// runs runs the program in an empty environment.
func runs(t *testing.T, program string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "manager")
	testaid.Program(t, file, program)
	command := exec.CommandContext(t.Context(), file)
	command.Env = []string{}
	if output, err := command.CombinedOutput(); err != nil || string(output) != "hello" {
		t.Errorf("%v: %s", err, output)
	}
}

func TestOnlyWhatChangedIsBuilt(t *testing.T) {
	t.Parallel()
	dir := committed(t)
	first := built(t, dir, build.Options{})
	same := func(what string, reused, layer, whole bool) {
		t.Helper()
		next := built(t, dir, build.Options{})
		if got := next.Platforms[0].Reused; got != reused {
			t.Errorf("%s: reused %t", what, got)
		}
		if got := next.Platforms[0].Layers[1].Digest == first.Platforms[0].Layers[1].Digest; got != layer {
			t.Errorf("%s: the same layer %t", what, got)
		}
		if got := next.Image.Descriptor.Digest == first.Image.Descriptor.Digest; got != whole {
			t.Errorf("%s: the same image %t", what, got)
		}
		first = next
	}
	same("nothing", true, true, true)
	write(t, dir, "default.pgo", "no profile")
	if _, err := build.Run(t.Context(), dir, build.Options{}); err == nil {
		t.Error("a profile to optimize by was not looked at")
	}
	if err := os.Remove(filepath.Join(dir, "default.pgo")); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "config", "status.showUntrackedFiles", "no") // affects only output for users
	write(t, dir, "README.md", "text")                       // now the revision is dirty
	same("a file that is not compiled", true, true, false)
	source, err := os.ReadFile(filepath.Join(dir, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "main.go", string(source)+"\n// The end.\n")
	same("a comment at the end", false, true, true)
	write(t, dir, "NOTICE", "made by someone else")
	same("a notice", false, true, false)
	write(t, dir, "text/a.txt", "hallo")
	same("an embedded file", false, false, false)
	write(t, dir, "main.go", string(source)+"\nfunc init() { text += text }\n")
	same("code", false, false, false)
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "second")
	same("a commit", true, true, false)
	if built(t, dir, build.Options{By: "another release"}).Platforms[0].Reused {
		t.Error("what another release of Operon built is used")
	}
}

// A commit does not contain a module outside of its repository: the revision of an image with such sources is dirty.
func TestSourcesOutsideOfTheRepository(t *testing.T) {
	t.Parallel()
	dir := project(t)
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q")
	for _, test := range []struct {
		place string
		dirty bool
	}{{"lib", false}, {"../lib", true}} {
		write(t, filepath.Join(dir, test.place), "go.mod", "module github.com/someone/lib\n")
		write(t, filepath.Join(dir, test.place), "lib.go", "package lib\n")
		write(t, dir, "lib.go", "package main\n\nimport _ \"github.com/someone/lib\"\n")
		write(t, dir, "go.mod", string(mod)+"\nrequire github.com/someone/lib v0.0.0\n\nreplace github.com/someone/lib => ./"+test.place+"\n")
		git(t, dir, "add", ".")
		git(t, dir, "commit", "-qm", "with its module in "+test.place)
		for _, how := range []string{"built", "reused"} {
			revision := built(t, dir, build.Options{}).config(t).Config.Labels["org.opencontainers.image.revision"]
			if strings.HasSuffix(revision, "-dirty") != test.dirty {
				t.Errorf("with its module in %s, %s: %s", test.place, how, revision)
			}
		}
	}
}

// Sources in a git submodule are in the commit.
func TestSourcesInASubmodule(t *testing.T) {
	t.Parallel()
	lib, dir := t.TempDir(), project(t)
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	git(t, lib, "init", "-q")
	write(t, lib, "go.mod", "module github.com/someone/lib\n")
	write(t, lib, "lib.go", "package lib\n")
	write(t, lib, ".gitignore", "generated.go\n")
	git(t, lib, "add", ".")
	git(t, lib, "commit", "-qm", "a module")
	git(t, dir, "init", "-q")
	git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "third_party/lib")
	write(t, dir, "lib.go", "package main\n\nimport _ \"github.com/someone/lib\"\n")
	write(t, dir, "go.mod", string(mod)+"\nrequire github.com/someone/lib v0.0.0\n\nreplace github.com/someone/lib => ./third_party/lib\n")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "with a submodule")
	for _, generated := range []bool{false, true} {
		if generated {
			write(t, filepath.Join(dir, "third_party/lib"), "generated.go", "package lib\n")
		}
		revision := built(t, dir, build.Options{}).config(t).Config.Labels["org.opencontainers.image.revision"]
		if strings.HasSuffix(revision, "-dirty") != generated {
			t.Errorf("with a file that the submodule ignores (%t): %s", generated, revision)
		}
	}
}

// An image whose sources were changed during the build does not claim to be of the commit.
func TestSourcesThatChangeDuringTheBuild(t *testing.T) {
	t.Parallel()
	dir := project(t)
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "all")
	var once sync.Once
	changed := false
	revision := built(t, dir, build.Options{Tell: func(string) {
		once.Do(func() {
			write(t, dir, "late.go", "package main\n")
			changed = true
		})
	}}).config(t).Config.Labels["org.opencontainers.image.revision"]
	if !changed || !strings.HasSuffix(revision, "-dirty") {
		t.Errorf("changed: %t, revision %s", changed, revision)
	}
}

// A file that .gitignore excludes is in no commit, and git status does not show it.
func TestSourcesThatGitIgnores(t *testing.T) {
	t.Parallel()
	dir := project(t)
	git(t, dir, "init", "-q")
	write(t, dir, ".gitignore", "generated.go\n*.txt\n")
	git(t, dir, "add", ".")
	git(t, dir, "add", "-f", "text/a.txt") // it is tracked nevertheless
	git(t, dir, "commit", "-qm", "without what is generated")
	for _, generated := range []bool{false, true} {
		if generated {
			write(t, dir, "generated.go", "package main\n")
		}
		revision := built(t, dir, build.Options{}).config(t).Config.Labels["org.opencontainers.image.revision"]
		if strings.HasSuffix(revision, "-dirty") != generated {
			t.Errorf("with a generated file (%t): %s", generated, revision)
		}
	}
}

// Each module of a workspace may raise the version of a module that the program links.
func TestWorkspace(t *testing.T) {
	t.Parallel()
	dir := project(t)
	above := filepath.Dir(dir)
	write(t, above, "tool/go.mod", "module github.com/someone/tool\n\ngo 1.26.0\n")
	write(t, above, "go.work", "go 1.26.0\n\nuse (\n\t\"./web [1]\"\n\t./tool\n)\n")
	built(t, dir, build.Options{})
	if !built(t, dir, build.Options{}).Platforms[0].Reused {
		t.Error("compiled again for nothing")
	}
	write(t, above, "tool/go.mod", "module github.com/someone/tool\n\ngo 1.26.0\n\nrequire (\n)\n")
	if built(t, dir, build.Options{}).Platforms[0].Reused {
		t.Error("another module's requirements changed, and nothing was compiled")
	}
}

func TestPlatforms(t *testing.T) {
	t.Parallel()
	dir := project(t)
	write(t, dir, "main.go", "package main\n\nimport _ \"golang.org/x/sync/singleflight\"\n\nfunc main() {}\n")
	one := built(t, dir, build.Options{Platforms: []string{"linux/amd64", "linux/arm64"}})
	index, err := v1.ParseIndexManifest(bytes.NewReader(one.blob(t, one.Image.Descriptor.Digest)))
	if err != nil || len(index.Manifests) != 2 || index.Manifests[1].Platform.String() != "linux/arm64" {
		t.Fatalf("%+v, %v", index, err)
	}
	if one.Platforms[0].Layers[0].Digest != one.Platforms[1].Layers[0].Digest || one.Platforms[0].Layers[1].Digest == one.Platforms[1].Layers[1].Digest {
		t.Errorf("%+v", one.Platforms)
	}
	// The programs for other platforms are retained.
	built(t, dir, build.Options{Platforms: []string{"linux/amd64"}})
	if again := built(t, dir, build.Options{Platforms: []string{"linux/arm64"}}); !again.Platforms[0].Reused || again.config(t).Created.Unix() != 0 {
		t.Errorf("%+v", again.Platforms)
	}
}

func TestProjectsOfKubebuilder(t *testing.T) {
	t.Parallel()
	dir := project(t)
	write(t, dir, "PROJECT", "domain: example.com\nprojectName: shop\nlayout: [go.kubebuilder.io/v4]\nrepo: github.com/someone/web\nversion: \"3\"\n")
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "cmd"), 0o700), os.Rename(filepath.Join(dir, "main.go"), filepath.Join(dir, "cmd", "main.go")),
		os.Rename(filepath.Join(dir, "text"), filepath.Join(dir, "cmd", "text"))); err != nil {
		t.Fatal(err)
	}
	one := built(t, dir, build.Options{})
	if one.Name != "shop" || one.files(t)["manager"] == "" {
		t.Errorf("%+v", one.Result)
	}
}

func TestWhatCannotBeBuilt(t *testing.T) {
	t.Parallel()
	broken, empty := project(t), t.TempDir()
	write(t, broken, "main.go", "package main\n\nfunc main() { undefinedThing() }\n")
	for want, test := range map[string]struct {
		dir     string
		options build.Options
	}{
		"main.go:3:15: undefined: undefinedThing":                                {broken, build.Options{}},
		"is not an operator project: it has neither a go.mod nor a watches.yaml": {empty, build.Options{}},
		"images are made for linux":                                              {broken, build.Options{Platforms: []string{"windows/amd64"}}},
		"linux/ARCH, ARCH one of 386, amd64":                                     {broken, build.Options{Platforms: []string{"linux/x"}}},
		"has no variant":                                                         {broken, build.Options{Platforms: []string{"linux/arm/v9"}}},
		"is listed twice":                                                        {broken, build.Options{Platforms: []string{"linux/arm64", "linux/arm64"}}},
		"it holds a PRIVATE KEY":                                                 {broken, build.Options{Roots: []byte("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n")}},
	} {
		_, err := build.Run(t.Context(), test.dir, test.options)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Invalid options are reported before anything is done.
func TestOptionsThatAreNone(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	err := build.Options{Labels: map[string]string{"": "a"}, Platforms: []string{"linux"}}.Check()
	for _, want := range []string{`the platform "linux": want linux/ARCH`, "a label has no name: want NAME=VALUE", `SOURCE_DATE_EPOCH is "yesterday": want seconds since 1970`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func FuzzPlatforms(f *testing.F) {
	for _, text := range []string{"linux/amd64", "linux/arm/v7", "linux//", "windows/amd64", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		err := build.Options{Platforms: []string{text}}.Check()
		if err == nil && !strings.HasPrefix(text, "linux/") {
			t.Errorf("%q was taken", text)
		}
	})
}
