package build

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A full disk is not reported as an error in the code.
func TestFullDisksAreNoCompileErrors(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"package web: build constraints exclude all Go files in /web": "the operator does not compile for linux/amd64:\npackage web: build constraints exclude all Go files in /web\nprograms in images are built without cgo",
		"mkdir /tmp/go-build1: no space left on device":               "a disk is full",
		"main.go:3:1: undefined: x":                                   "the operator does not compile for linux/amd64",
	} {
		target, err := parsePlatform("linux/amd64")
		if err != nil {
			t.Fatal(err)
		}
		if err := refused(target, fmt.Errorf("go build: %w", &exec.ExitError{Stderr: []byte(said)})); !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), said) {
			t.Errorf("%v", err)
		}
	}
}

// A user's everyday settings do not change an image.
func TestSettingsOfArchitectures(t *testing.T) {
	for name, everyday := range map[string][2]string{
		"GOAMD64": {"linux/amd64", "v3"}, "GOARM64": {"linux/arm64", "v9.0"}, "GOARM": {"linux/arm", "5"}, "GO386": {"linux/386", "softfloat"},
		"GOPPC64": {"linux/ppc64le", "power10"}, "GORISCV64": {"linux/riscv64", "rva23u64"},
	} {
		t.Setenv(name, everyday[1])
		target, err := parsePlatform(everyday[0])
		if err != nil {
			t.Fatal(err)
		}
		set, err := toolchain{dir: "."}.output(t.Context(), target.env, "env", name)
		if err != nil || strings.TrimSpace(string(set)) == everyday[1] {
			t.Errorf("%s is %s, %v", name, set, err)
		}
	}
}

// What `operon up` of a release compiles, without cgo and build paths, is not compiled again for an image: all packages but the main
// package have the same build ID. The program has the time zones nevertheless, also if links lead to the project.
func TestBuildsAfterUpOnlyLink(t *testing.T) {
	t.Parallel()
	target, err := parsePlatform("linux/" + runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(zones(t, ""), dir); err != nil {
		t.Fatal(err)
	}
	tools, err := newToolchain(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	extra := withZones(t, tools, target, "/nowhere")
	image := buildIDs(t, tools, target, slices.Concat(tools.flags(), extra)...)
	up := buildIDs(t, tools, target, "-trimpath") // see package gobuild
	for name, id := range up {
		if name != "example.com/zones/cmd" && image[name] != id {
			t.Errorf("%s is compiled again for an image", name)
		}
	}
	if up["example.com/zones/clock"] == "" || up["example.com/zones/cmd"] == image["example.com/zones/cmd"] {
		t.Errorf("got %v, %v", up, image)
	}
}

// A main package that embeds all its files, and one in the module cache, get the time zones without a file.
func TestTimeZonesWithoutAFile(t *testing.T) {
	t.Parallel()
	target, err := parsePlatform("linux/" + runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	embeds, plain := toolchain{dir: zones(t, "//go:embed *\nvar files embed.FS")}, toolchain{dir: zones(t, "")}
	for name, extra := range map[string][]string{"embeds": withZones(t, embeds, target, "/nowhere"), "cached": withZones(t, plain, target, filepath.Dir(plain.dir))} {
		if slices.Contains(extra, "-overlay") {
			t.Errorf("%s: %q", name, extra)
		}
	}
}

// zones writes a project, with a declaration in its main package.
func zones(t *testing.T, declaration string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":         "module example.com/zones\n\ngo 1.26\n",
		"cmd/main.go":    "package main\n\nimport (\n\t_ \"embed\"\n\n\t\"example.com/zones/clock\"\n)\n\nfunc main() { clock.Print() }\n",
		"cmd/more.go":    "package main\n\nimport \"embed\"\n\nvar _ embed.FS\n\n" + declaration + "\n",
		"clock/clock.go": "package clock\n\nimport \"time\"\n\nfunc Print() { println(time.Now().String()) }\n",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700), os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// withZones compiles the project and returns the flags that add the time zones, which the program must have.
func withZones(t *testing.T, tools toolchain, target platform, moduleCache string) []string {
	t.Helper()
	found, err := tools.list(t.Context(), target, "./cmd", "/nowhere")
	if err != nil {
		t.Fatal(err)
	}
	extra, err := tools.timezones(found.main, moduleCache, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), Program)
	if err := tools.compile(t.Context(), target, "./cmd", program, extra); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(content, []byte("Antarctica/Troll")) {
		t.Errorf("with %q, the program has no time zones", extra)
	}
	return extra
}

// buildIDs returns the build IDs of all packages that cmd consists of.
func buildIDs(t *testing.T, tools toolchain, target platform, flags ...string) map[string]string {
	t.Helper()
	list := slices.Concat([]string{"list", "-deps", "-export", "-f", "{{.ImportPath}} {{.BuildID}}"}, flags, []string{"./cmd"})
	output, err := tools.output(t.Context(), append([]string{"GOFLAGS="}, target.env...), list...)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for line := range strings.Lines(string(output)) {
		name, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		ids[name] = id
	}
	return ids
}
