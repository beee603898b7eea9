package build_test

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/ship/build"
	"github.com/operon-framework/operon/internal/ship/sbom"
	"github.com/operon-framework/operon/internal/testing/testaid"
)

// archive makes a directory with the files of a release archive that belong to operon-engine, which is a small program here.
func archive(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "operon-engine")
	command := exec.Command("go", "build", "-trimpath", "-o", program, ".")
	command.Dir, command.Env = project(t), append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte(testaid.Read(t, program)))
	document, err := sbom.Write(sbom.Subject{
		Name: "operon-engine", Digest: hex.EncodeToString(digest[:]), Created: time.Now(), By: "test", Info: info,
		Licenses: map[string]string{"golang.org/x/sync": "Zlib"},
	})
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "sbom/operon-engine.spdx.json", string(document))
	write(t, dir, "licenses/operon-engine/golang.org/x/sync/LICENSE", "as you like")
	return dir
}

// The image of an operator without Go contains the program of the release as it is, with its licenses. No go command is needed.
func TestAnImageFromARelease(t *testing.T) {
	release, dir := archive(t), withoutGo(t)
	program := filepath.Join(release, "operon-engine")
	t.Setenv("OPERON_ENGINE_BINARY", program)
	t.Setenv("PATH", t.TempDir())
	options := build.Options{Version: "1.2.3", Platforms: []string{"linux/amd64"}}
	one := built(t, dir, options)
	files := one.files(t)
	if files[build.Program] != testaid.Read(t, program) {
		t.Error("the program in the image is not that of the release")
	}
	if text := files["usr/share/doc/till-operator/golang.org/x/sync/LICENSE"]; text != "as you like" {
		t.Errorf("the image has the license %q", text)
	}
	if modules := one.modules(t); !strings.Contains(modules, `"licenseDeclared": "Zlib"`) {
		t.Errorf("the SBOM has no license of the module: %s", modules)
	}
	if next := built(t, dir, options); !next.Platforms[0].Reused || next.Image.Descriptor.Digest != one.Image.Descriptor.Digest {
		t.Errorf("the second build reused the program: %t", next.Platforms[0].Reused)
	}
	for _, test := range []struct {
		change  func()
		options build.Options
		want    string
	}{
		{func() {}, build.Options{Platforms: []string{"linux/arm64"}}, program + " is for linux/amd64 only: there is no go command"},
		{func() {}, build.Options{Platforms: []string{"linux/amd64"}, Tags: []string{"slow"}}, "there is no go command"},
		{func() { write(t, release, "operon-engine", testaid.Read(t, program)+"more") }, options, "is not the program that"},
		{func() { write(t, release, "operon-engine", "another") }, options, "unpack the release archive again"},
		{func() { write(t, release, "sbom/operon-engine.spdx.json", "{}") }, options, "describes no program"},
		{func() { write(t, release, "sbom/operon-engine.spdx.json", "{") }, options, "operon-engine.spdx.json: unexpected end"},
	} {
		test.change()
		if _, err := build.Run(t.Context(), dir, test.options); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
}
