package debian

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/ship/image"
)

// finish adds the files that package scripts would have created and every program expects, and lists all files.
func (t *tree) finish(ctx context.Context, folder string) ([]image.File, error) {
	for _, name := range moved {
		if t.has("usr/" + name) {
			t.files[name] = image.File{Path: name, Link: "usr/" + name}
		}
	}
	t.offer(image.File{Path: "tmp", Mode: 0o1777, Folder: true})
	t.offer(image.File{Path: "var/tmp", Mode: 0o1777, Folder: true})
	t.offer(image.Content("etc/passwd", 0o644, []byte("root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n")))
	t.offer(image.Content("etc/group", 0o644, []byte("root:x:0:\nnogroup:x:65534:\n")))
	if err := t.applets(ctx, folder); err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(t.files), func(a, b image.File) int { return cmp.Compare(a.Path, b.Path) }), nil
}

// offer adds a file unless a package contains it.
func (t *tree) offer(file image.File) {
	if _, there := t.files[file.Path]; !there {
		t.files[file.Path] = file
	}
}

// has reports whether a directory contains any files.
func (t *tree) has(folder string) bool {
	for name := range t.files {
		if strings.HasPrefix(name, folder+"/") {
			return true
		}
	}
	return false
}

// busybox is a single program that provides many commands.
const busybox = "usr/bin/busybox"

// applets adds links to busybox for the commands that it provides, unless another package contains them. Debian does not
// create these links, but images of busybox have them. The list of commands is queried from busybox itself.
func (t *tree) applets(ctx context.Context, folder string) error {
	program, there := t.files[busybox]
	if !there || program.Open == nil {
		return nil
	}
	copied := filepath.Join(folder, "busybox")
	if err := unpackTo(copied, program); err != nil {
		return err
	}
	output, err := run(ctx, copied, "--list-full")
	if err != nil {
		return fmt.Errorf("list the applets of busybox: %w", err)
	}
	for line := range strings.Lines(output) {
		place := merged(strings.TrimSpace(line))
		if place == "" || path.Base(place) == "busybox" || !strings.HasPrefix(place, "usr/") {
			continue
		}
		t.offer(image.File{Path: place, Link: "/" + busybox})
	}
	for _, name := range []string{"bin", "sbin"} {
		if t.has("usr/" + name) {
			t.files[name] = image.File{Path: name, Link: "usr/" + name}
		}
	}
	return nil
}

// unpackTo writes a file of a package, so that it can be run.
func unpackTo(to string, file image.File) error {
	from, err := file.Open()
	if err != nil {
		return err
	}
	defer from.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, fs.FileMode(0o700))
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	return errors.Join(err, out.Close())
}
