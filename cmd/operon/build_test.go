package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// small writes a project that is quick to build.
func small(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	err := errors.Join(os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/web\n\ngo 1.26\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestBuildWritesAnImageAndTellsOfIt(t *testing.T) {
	t.Parallel()
	dir := small(t)
	file := filepath.Join(t.TempDir(), "web.tar")
	got := operon(t, "build", dir, "--tar", file, "--layout", filepath.Join(filepath.Dir(file), "layout"), "-o", "json")
	var told madeImage
	if err := json.Unmarshal([]byte(got.stdout), &told); err != nil || got.code != 0 {
		t.Fatalf("exit %d, %v\n%s%s", got.code, err, got.stdout, got.stderr)
	}
	written, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	size := told.Platforms[0].Size
	if layers, err := written.Layers(); err != nil || len(layers) != len(told.Platforms[0].Layers) || size < 500_000 || size > 5_000_000 || told.Name != "web:latest" || told.Written == 0 {
		t.Errorf("%v, %+v", err, told)
	}
	if text := operon(t, "build", dir, "--tar", file); text.code != 0 || !strings.HasSuffix(text.stdout, "\nwritten to "+file+"\nweb:latest@"+told.Digest+"\n") {
		t.Errorf("exit %d\n%s%s", text.code, text.stdout, text.stderr)
	}
}

func TestBuildSaysWhatTheClusterCannotDo(t *testing.T) {
	t.Parallel()
	// The fake operon-cluster exits with 42, whatever it is asked for.
	got := operon(t, "build", small(t), "--cluster", "x")
	if want := "operon: load the image into cluster \"x\": "; got.code != exitFailed || !strings.HasPrefix(got.stderr, want) {
		t.Errorf("exit %d\n%s", got.code, got.stderr)
	}
}

func TestBuildSaysWhatTheCompilerSays(t *testing.T) {
	t.Parallel()
	dir := small(t)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() { x }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "web.tar")
	got := operon(t, "build", dir, "--tar", file)
	if got.code != exitFailed || !strings.HasPrefix(got.stderr, "operon: the operator does not compile for linux/") || !strings.Contains(got.stderr, "main.go:3:15: undefined: x") {
		t.Errorf("exit %d\n%s", got.code, got.stderr)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("something was written: %v", err)
	}
}

func TestImagesOfFolders(t *testing.T) {
	t.Parallel()
	dir, file := small(t), filepath.Join(t.TempDir(), "web.tar")
	got := operon(t, "image", "from-dir", dir, "--name", "web:1", "--tar", file, "--entrypoint", "/main", "--entrypoint", "-v",
		"--cmd", "a, b", "--user", "7:8", "--env", "A=1,2", "--workdir", "/x", "--label", "team=a", "--platform", "linux/arm64")
	if got.code != 0 || !strings.HasPrefix(got.stdout, "linux/arm64: ") {
		t.Fatalf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	written, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := written.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	run := config.Config
	if strings.Join(run.Entrypoint, "|") != "/main|-v" || strings.Join(run.Cmd, "|") != "a, b" || run.User != "7:8" || strings.Join(run.Env, "|") != "A=1,2" ||
		run.WorkingDir != "/x" || run.Labels["team"] != "a" || config.Architecture != "arm64" || config.Created.Unix() != 0 {
		t.Errorf("%+v", config)
	}
}
