package image

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// listed returns the entries of a layer, as mode, owner and path.
func listed(t *testing.T, store *Store, layer Layer) string {
	t.Helper()
	file, err := os.Open(store.path(layer.Descriptor.Digest))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return all.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		if !header.ModTime.Equal(Epoch) || header.Uname+header.Gname != "" {
			t.Errorf("%s has a time or an owner of this machine: %s %q", header.Name, header.ModTime, header.Uname)
		}
		fmt.Fprintf(&all, "%c %o %d:%d %s %s\n", header.Typeflag, header.Mode, header.Uid, header.Gid, header.Name, header.Linkname)
	}
}

func TestLayersAreOfFilesAndNothingElse(t *testing.T) {
	t.Parallel()
	var digests []string
	for range 2 {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "etc", "web.conf"), "x")
		write(t, filepath.Join(dir, "b"), "program")
		if err := errors.Join(os.Symlink("b", filepath.Join(dir, "a")), os.Chmod(filepath.Join(dir, "b"), 0o755|os.ModeSetuid),
			os.Chtimes(filepath.Join(dir, "b"), time.Now(), time.Now().Add(-time.Duration(len(digests)+1)*time.Hour))); err != nil {
			t.Fatal(err)
		}
		files, err := Tree(dir)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, File{Path: "c", Same: "/b"}, File{Path: "var/lib", Mode: 0o700, UID: 7, GID: 8, Folder: true})
		store := newStore(t)
		layer, err := store.Layer(t.Context(), "test", files)
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, layer.Descriptor.Digest.String()+layer.DiffID.String())
		want := `2 777 0:0 a b
0 4755 0:0 b 
5 700 0:0 etc/ 
0 600 0:0 etc/web.conf 
5 755 0:0 var/ 
5 700 7:8 var/lib/ 
1 0 0:0 c b
`
		if os.Getuid() != 0 {
			want = strings.Replace(want, "4755", "755", 1) // the program does not belong to root
		}
		if got := listed(t, store, layer); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	if digests[0] != digests[1] {
		t.Errorf("the same files gave %s and %s", digests[0], digests[1])
	}
}

func TestFilesThatNoLayerCanHold(t *testing.T) {
	t.Parallel()
	for want, files := range map[string][]File{
		"/a is in the layer twice":                       {Content("a", 0o644, nil), Content("/./a", 0o644, nil)},
		"/a/b belongs into /a, which is not a directory": {Content("a", 0o644, nil), Content("a/b", 0o644, nil)},
		"/a became shorter while it was read: 1 b":       {{Path: "a", Size: 2, Open: Content("", 0, []byte("x")).Open}},
		"/a became longer while it was read: it h":       {{Path: "a", Size: 1, Open: Content("", 0, []byte("xy")).Open}},
		"a/../../b has .. in it: want a path from":       {Content("a/../../b", 0o644, nil)},
	} {
		store := newStore(t)
		_, err := store.Layer(t.Context(), "test", files)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if left, _ := os.ReadDir(store.blobs()); len(left) > 0 {
			t.Errorf("%s: left %v", want, left)
		}
	}
}

func TestFoldersThatAreNoImage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "")
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"none": "no such file", "file": "is a file; name the directory", "empty": "is empty"} {
		if _, err := Tree(filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A link to a directory is used like the directory. Links inside it remain links.
func TestAFolderBehindALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "root", "a"), "x")
	link := filepath.Join(dir, "link")
	if err := errors.Join(os.Symlink("root", link), os.Symlink(dir, filepath.Join(dir, "root", "out"))); err != nil {
		t.Fatal(err)
	}
	files, err := Tree(link)
	if err != nil || len(files) != 2 || files[0].Path != "a" || files[1].Link != dir {
		t.Errorf("%v, %+v", err, files)
	}
}

func TestRootsHoldCertificatesOnly(t *testing.T) {
	t.Parallel()
	roots, err := Roots(nil)
	if err != nil || strings.Count(string(roots), "BEGIN CERTIFICATE") < 100 {
		t.Fatalf("%v, %d bytes", err, len(roots))
	}
	const certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	more, err := Roots([]byte("# a comment\n" + certificate))
	if err != nil || string(more) != string(roots)+certificate {
		t.Errorf("%v, %q", err, strings.TrimPrefix(string(more), string(roots)))
	}
	for text, want := range map[string]string{
		"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n": "it holds a PRIVATE KEY",
		"nothing": "not a PEM certificate",
	} {
		if _, err := Roots([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzRoots(f *testing.F) {
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if roots, err := Roots(text); err == nil && strings.Contains(string(roots), "BEGIN PRIVATE KEY") {
			t.Error("a key got in")
		}
	})
}

func TestNames(t *testing.T) {
	t.Parallel()
	if name := named(t, "registry.example.com:5000/team/web:1.0"); name.Full != "registry.example.com:5000/team/web:1.0" || name.Short != name.Full || name.Tag != "1.0" {
		t.Errorf("%+v", name)
	}
	if name := named(t, "web"); !strings.HasSuffix(name.Full, "/library/web:latest") || name.Short != "web:latest" {
		t.Errorf("%+v", name)
	}
	for _, text := range []string{"", "Web", "web:", "a b", "web@sha256:" + strings.Repeat("0", 64)} {
		if _, err := ParseName(text); err == nil || !strings.Contains(err.Error(), "the image name") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A program that runs as its owner does not become one that runs as root, and exactly the files that were checked are packed.
func TestTreesOfOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "program")
	write(t, path, "program")
	if os.Getuid() == 0 {
		if err := os.Chown(path, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, 0o755|os.ModeSetuid|os.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	files, err := Tree(dir)
	if err != nil || len(files) != 1 || files[0].Mode != 0o755 {
		t.Fatalf("%+v, error %v", files, err)
	}
	other := filepath.Join(t.TempDir(), "secret")
	write(t, other, "secret")
	if err := errors.Join(os.Remove(path), os.Symlink(other, path)); err != nil {
		t.Fatal(err)
	}
	if _, err := files[0].Open(); err == nil {
		t.Error("a link that replaced a file was followed")
	}
	if err := errors.Join(os.Remove(path), os.Rename(other, path)); err != nil {
		t.Fatal(err)
	}
	if _, err := files[0].Open(); err == nil || !strings.Contains(err.Error(), "was replaced") {
		t.Errorf("another file: %v", err)
	}
}
