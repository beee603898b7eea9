package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// tiny returns a release of one program in a module of its own, whose main function is this code.
func tiny(t *testing.T, code string) *release {
	t.Helper()
	dir := t.TempDir()
	license, err := os.ReadFile(filepath.Join("..", "..", "..", "LICENSE"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"go.mod": "module example.com/tiny\n\ngo 1.26\n", "LICENSE": string(license),
		"main.go": "package main\n\nimport \"fmt\"\n\nfunc main() {\n" + code + "\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &release{
		programs: []program{{name: "tiny", module: dir, main: "."}, {name: "elsewhere", module: dir, main: ".", system: "plan9"}}, common: []file{{path: "LICENSE", content: license}}, version: "v1.2.3", out: filepath.Join(t.TempDir(), "dist"),
		modified: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), tell: t.Logf,
	}
}

var here = platform{runtime.GOOS, runtime.GOARCH}

// An archive contains the program, what it is made of and the licenses, in one directory, and two builds are equal.
func TestArchive(t *testing.T) {
	t.Parallel()
	first, second := tiny(t, `fmt.Println("hello")`), tiny(t, `fmt.Println("hello")`)
	for _, r := range []*release{first, second} {
		if err := errors.Join(r.archive(t.Context(), here), r.sum()); err != nil {
			t.Fatal(err)
		}
	}
	name := "operon_v1.2.3_" + here.system + "_" + here.architecture
	one, two := read(t, filepath.Join(first.out, name+suffix)), read(t, filepath.Join(second.out, name+suffix))
	if !bytes.Equal(one, two) {
		t.Error("two builds differ")
	}
	files := unpack(t, one)
	for _, path := range []string{"LICENSE", "tiny", "sbom/tiny.spdx.json", "licenses/tiny/example.com/tiny/LICENSE"} {
		if len(files[name+"/"+path]) == 0 {
			t.Errorf("%s is missing", path)
		}
	}
	program := filepath.Join(t.TempDir(), "tiny")
	if err := os.WriteFile(program, files[name+"/tiny"], 0o700); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), program).Output(); err != nil || string(said) != "hello\n" {
		t.Errorf("the program says %q, %v", said, err)
	}
	if sums := string(read(t, filepath.Join(first.out, checksums))); !strings.HasSuffix(sums, "  "+name+".tar.gz\n") || len(sums) != 64+2+len(name)+8 {
		t.Errorf("checksums: %q", sums)
	}
}

// A release that fails or is interrupted leaves nothing behind.
func TestNoArchive(t *testing.T) {
	t.Parallel()
	broken := tiny(t, `fmt.Println(unknown)`)
	if err := broken.archive(t.Context(), here); err == nil || !strings.Contains(err.Error(), "main.go:6:13: undefined: unknown") {
		t.Errorf("broken: %v", err)
	}
	interrupted := tiny(t, `fmt.Println("hello")`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := interrupted.archive(ctx, here); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if err := tiny(t, `fmt.Println("hello")`).archive(t.Context(), platform{"plan10", "amd64"}); err == nil || !strings.Contains(err.Error(), "unsupported GOOS/GOARCH pair plan10/amd64") {
		t.Errorf("unknown platform: %v", err)
	}
	occupied := tiny(t, `fmt.Println("hello")`)
	if err := os.MkdirAll(filepath.Join(occupied.out, "operon_v1.2.3_"+here.system+"_"+here.architecture+suffix, "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := occupied.archive(t.Context(), here); err == nil {
		t.Error("an archive took the place of a directory")
	}
	if left, err := os.ReadDir(occupied.out); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
	for _, r := range []*release{broken, interrupted} {
		if left, err := os.ReadDir(r.out); err == nil {
			t.Errorf("left: %v", left)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	if got, err := parse(t.Context(), "linux/amd64,darwin/arm64"); err != nil || !slices.Equal(got, []platform{{"linux", "amd64"}, {"darwin", "arm64"}}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, wrong := range []string{"", "linux", "linux/amd64,,darwin/arm64", "plan10/amd64", "linux/amd64 darwin/arm64"} {
		if got, err := parse(t.Context(), wrong); err == nil {
			t.Errorf("%q: %v", wrong, got)
		}
	}
}

// The programs of a release exist.
func TestPrograms(t *testing.T) {
	t.Parallel()
	for _, one := range programs {
		said, err := output(t.Context(), filepath.Join("..", "..", "..", one.module), here.environment(), "go", "list", "-f", "{{.Name}}", one.main)
		if err != nil || string(said) != "main\n" {
			t.Errorf("%s: %s, %v", one.name, said, err)
		}
	}
}

func TestWriteArchive(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.tar.gz")
	files := []file{{path: "b", content: []byte("b"), executable: true}, {path: "a", content: []byte("a")}}
	if err := writeArchive(path, "top", files, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	packed, err := gzip.NewReader(bytes.NewReader(read(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(packed)
	var got []string
	for {
		header, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, header.FileInfo().Mode().String()+" "+header.Name+" "+header.ModTime.UTC().Format(time.TimeOnly))
	}
	if want := []string{"-rw-r--r-- top/a 00:00:01", "-rwxr-xr-x top/b 00:00:01"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// unpack returns the files of an archive by their paths.
func unpack(t *testing.T, content []byte) map[string][]byte {
	t.Helper()
	packed, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	archive, files := tar.NewReader(packed), map[string][]byte{}
	for {
		header, err := archive.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}
