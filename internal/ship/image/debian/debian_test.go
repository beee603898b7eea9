package debian

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/internal/testing/testaid"
)

// withApt skips the test if no packages are available to build images from.
func withApt(t *testing.T) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "apt-cache", "show", "busybox-static", "memcached").Output()
	if err != nil || len(output) == 0 {
		testaid.Lacks(t, "apt on this machine, if there is one, knows of no packages")
	}
}

// unpackedTo writes the files of packages below a directory, as in a container.
func unpackedTo(t *testing.T, files []image.File) string {
	t.Helper()
	root := t.TempDir()
	for _, file := range files {
		path := filepath.Join(root, file.Path)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		switch {
		case file.Folder:
			err = errors.Join(err, os.MkdirAll(path, 0o755))
		case file.Link != "":
			err = errors.Join(err, os.Symlink(file.Link, path))
		case file.Same != "":
			// none of these packages has a hard link
		default:
			err = errors.Join(err, unpackTo(path, file), os.Chmod(path, os.FileMode(file.Mode&0o777)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// inside runs a program of an unpacked image with the image as its root directory.
func inside(t *testing.T, root string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), arguments[0], arguments[1:]...)
	command.Path, command.Err = arguments[0], nil
	command.Dir = "/"
	command.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	output, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("%q: %v\n%s", arguments, err, output)
	}
	return string(output)
}

func TestProgramsOfPackagesRun(t *testing.T) {
	withApt(t)
	t.Setenv("OPERON_HOME", t.TempDir())
	for name, test := range map[string]struct {
		options Options
		run     []string
		want    string
	}{
		"busybox":   {Options{Packages: []string{"busybox-static"}}, []string{"/bin/sh", "-c", "echo Hello && ls /bin/wget"}, "Hello\n/bin/wget\n"},
		"memcached": {Options{Packages: []string{"memcached"}, Without: []string{"perl"}}, []string{"/usr/bin/memcached", "-V"}, "memcached 1."},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := Unpack(t.Context(), t.TempDir(), test.options)
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(root.Archives, func(name string) bool { return strings.HasPrefix(name, "debconf_") || strings.HasPrefix(name, "perl") }) {
				t.Errorf("packages are in it that nothing needs: %q", root.Archives)
			}
			again, err := Unpack(t.Context(), t.TempDir(), test.options)
			if err != nil || !slices.Equal(again.Archives, root.Archives) || len(again.Files) != len(root.Files) {
				t.Errorf("a second time, with all of it downloaded: %v", err)
			}
			dir := unpackedTo(t, root.Files)
			if description, err := os.ReadFile(filepath.Join(dir, installedPackages, test.options.Packages[0])); err != nil || !strings.Contains(string(description), "\nVersion: ") {
				t.Errorf("the image describes its package as %q, %v", description, err)
			}
			if os.Geteuid() != 0 {
				return // the check of the packages needs no root privileges
			}
			if got := inside(t, dir, test.run...); !strings.HasPrefix(got, test.want) {
				t.Errorf("says %q", got)
			}
		})
	}
}

// Damaged archives are rejected, although apt-get uses an existing file of the right size without checking its content.
func TestDamagedArchivesAreRefused(t *testing.T) {
	withApt(t)
	home := t.TempDir()
	t.Setenv("OPERON_HOME", home)
	options := Options{Packages: []string{"busybox-static"}}
	root, err := Unpack(t.Context(), t.TempDir(), options)
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(home, "*", root.Archives[0]))
	if err != nil || len(found) != 1 {
		t.Fatalf("%q, %v", found, err)
	}
	content, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := os.WriteFile(found[0], content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Unpack(t.Context(), t.TempDir(), options); err == nil || !strings.Contains(err.Error(), "but the package source lists") {
		t.Errorf("a damaged archive: %v", err)
	}
	if _, err := Unpack(t.Context(), t.TempDir(), options); err != nil {
		t.Errorf("after the damaged archive was deleted: %v", err)
	}
}

func TestPackagesThatAreNotThere(t *testing.T) {
	withApt(t)
	t.Setenv("OPERON_HOME", t.TempDir())
	_, err := Unpack(t.Context(), t.TempDir(), Options{Packages: []string{"busybox-static", "no-such-package"}})
	if err == nil || !strings.Contains(err.Error(), "have no package no-such-package: check its name") {
		t.Errorf("%v", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Unpack(stopped, t.TempDir(), Options{Packages: []string{"busybox-static"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestWithoutApt(t *testing.T) {
	t.Setenv("OPERON_HOME", t.TempDir())
	t.Setenv("PATH", t.TempDir())
	if _, err := Unpack(t.Context(), t.TempDir(), Options{Packages: []string{"memcached"}}); err == nil || !strings.Contains(err.Error(), "apt-get is not on the PATH") {
		t.Errorf("%v", err)
	}
}

func TestWhatAptSaysIsExplained(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"E: Unable to locate package webb\n":               "no package webb",
		"E: Package 'web' has no installation candidate\n": "no package web:",
		"The following packages have unmet dependencies:\n web : Depends: lib but it is not\nE: Unable to correct\n": "the packages conflict:\n web : Depends: lib",
		"E: Failed to fetch http://deb.example.com/web.deb  Could not connect\nE: Unable to fetch some archives\n":   "deb.example.com/web.deb: Could not connect; without a network",
		"E: something new\n": "E: something new",
	} {
		if err := explain(&failure{command: "apt-get", output: said, err: errors.New("exit status 100")}); !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v", said, err)
		}
	}
}

func TestArchivesAreReadFromWhatAptPrints(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("0a", 32)
	got, err := archivesIn("Reading package lists...\n'http://deb.example.com/b.deb' web_1%3a2_all.deb 10 SHA256:" + sum + "\n'file:/a b.deb' a_1_amd64.deb 7 SHA256:" + sum + "\n")
	if err != nil || !slices.Equal(got, []archive{{"a_1_amd64.deb", sum}, {"web_1%3a2_all.deb", sum}}) {
		t.Errorf("%q, %v", got, err)
	}
	for _, line := range []string{"'http://x", "'x' ../a.deb 1 SHA256:" + sum, "'x' a.txt 1 SHA256:" + sum, "'x' a.deb", "'x' a.deb 1", "'x' a.deb 1 MD5Sum:0a"} {
		if _, err := archivesIn(line); err == nil {
			t.Errorf("%q was understood", line)
		}
	}
}

func FuzzArchives(f *testing.F) {
	f.Add("'http://deb.example.com/b.deb' web_1%3a2_all.deb 10 SHA256:" + strings.Repeat("0a", 32) + "\n")
	f.Add("'x' ../../etc/passwd.deb 1\n")
	f.Fuzz(func(t *testing.T, output string) {
		found, err := archivesIn(output)
		for _, archive := range found {
			if err == nil && strings.Contains(archive.name, "/") {
				t.Errorf("%q leads to another directory", archive.name)
			}
		}
	})
}

// packed returns the data of a package with these entries.
func packed(t *testing.T, headers ...tar.Header) string {
	t.Helper()
	var content bytes.Buffer
	writer := tar.NewWriter(&content)
	for _, header := range headers {
		if err := writer.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "data.tar")
	if err := errors.Join(writer.Close(), os.WriteFile(file, content.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTrees(t *testing.T) {
	t.Parallel()
	tree := newTree(false)
	first := packed(t,
		tar.Header{Name: "./", Typeflag: tar.TypeDir}, tar.Header{Name: "./bin/", Typeflag: tar.TypeDir},
		tar.Header{Name: "./bin/sh", Typeflag: tar.TypeReg, Mode: 0o755}, tar.Header{Name: "./usr/share/man/a.gz", Typeflag: tar.TypeReg},
		tar.Header{Name: "./usr/share/doc/web/copyright", Typeflag: tar.TypeReg})
	second := packed(t, tar.Header{Name: "./usr/bin/", Typeflag: tar.TypeDir, Mode: 0o755}, tar.Header{Name: "./usr/bin/a", Typeflag: tar.TypeLink, Linkname: "./bin/sh"})
	if err := errors.Join(tree.add("first", first), tree.add("second", second)); err != nil {
		t.Fatal(err)
	}
	files, err := tree.finish(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		found = append(found, strings.Join([]string{file.Path, file.Link, file.Same}, ">"))
	}
	want := []string{"bin>usr/bin>", "etc/group>>", "etc/passwd>>", "tmp>>", "usr/bin>>", "usr/bin/a>>usr/bin/sh", "usr/bin/sh>>", "usr/share/doc/web/copyright>>", "var/tmp>>"}
	if !slices.Equal(found, want) {
		t.Errorf("got  %q\nwant %q", found, want)
	}
	if err := tree.add("third", packed(t, tar.Header{Name: "./usr/bin/sh", Typeflag: tar.TypeReg})); err == nil || !strings.Contains(err.Error(), "first and third both contain /usr/bin/sh") {
		t.Errorf("%v", err)
	}
	if err := tree.add("fourth", packed(t, tar.Header{Name: "./dev/null", Typeflag: tar.TypeChar})); err == nil || !strings.Contains(err.Error(), "not a file, directory or link") {
		t.Errorf("%v", err)
	}
}
