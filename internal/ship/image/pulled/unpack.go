package pulled

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// unpacker unpacks layers over each other.
type unpacker struct {
	root        *os.Root
	limits      Limits
	directories []string

	// total is the size of the files, and space what they need with a block for each file and directory.
	total, space int64
	count        int
	// made are the directories, also those that were removed since.
	made map[string]bool
	// written are the files of the layer that is being unpacked, and above the directories that contain them. Its removals do not concern them.
	written, above map[string]bool
	// emptied are the directories that contain nothing of the layers below any more.
	emptied map[string]bool
	// left is how much the layers may still have together. Entries that are left out count: a layer of zeros compresses to a thousandth.
	left int64
}

func newUnpacker(root *os.Root, limits Limits, directories []string) *unpacker {
	return &unpacker{root: root, limits: limits, directories: directories, made: map[string]bool{}, left: 4*limits.Total + 1}
}

// Names with which a layer removes files of the layers below.
const (
	removal    = ".wh."
	removalAll = ".wh..wh..opq"
)

// notDescribed is the error of a layer with another size, digest or format than the manifest has.
const notDescribed = "a layer is not what the manifest describes"

func (u *unpacker) layer(layer v1.Layer) error {
	content, err := layer.Uncompressed() // verifies the digest
	if err != nil {
		return response(err, notDescribed)
	}
	defer content.Close()
	limited := &io.LimitedReader{R: reader{content, notDescribed}, N: u.left}
	defer func() { u.left = limited.N }()
	u.written, u.above, u.emptied = map[string]bool{}, map[string]bool{}, map[string]bool{}
	archive := tar.NewReader(limited)
	for {
		entry, err := archive.Next()
		switch {
		case err != nil && limited.N <= 0: // also at the end of an entry, where the archive seems to end
			return u.tooMuch()
		case errors.Is(err, io.EOF):
			return u.rest(limited)
		case err != nil:
			return fmt.Errorf("a layer: %w", err)
		}
		if err := u.entry(entry, archive); err != nil {
			return fmt.Errorf("%s: %w", entry.Name, err)
		}
	}
}

// rest reads what follows an archive, because the digest is that of the whole layer.
func (u *unpacker) rest(limited *io.LimitedReader) error {
	_, err := io.Copy(io.Discard, limited)
	if err == nil && limited.N <= 0 {
		return u.tooMuch()
	}
	return err
}

func (u *unpacker) tooMuch() error {
	return fmt.Errorf("the layers have more than %d bytes", 4*u.limits.Total)
}

// entry unpacks an entry of a layer, if it is below one of the directories.
func (u *unpacker) entry(entry *tar.Header, content io.Reader) error {
	if err := u.another(); err != nil {
		return err
	}
	place := strings.TrimPrefix(path.Clean("/"+entry.Name), "/") // never leads out
	folder, file := path.Split(place)
	switch {
	case file == removalAll:
		return u.remove(path.Clean(folder), true)
	case strings.HasPrefix(file, removal):
		return u.remove(folder+strings.TrimPrefix(file, removal), false)
	case !u.wanted(place):
		return nil
	}
	switch entry.Typeflag {
	case tar.TypeDir:
		return u.directory(place)
	case tar.TypeReg:
		return u.file(entry, place, content)
	}
	return errors.New("it is neither a file nor a directory: links and devices are not allowed here")
}

// wanted reports whether a path is one of the directories, or below one.
func (u *unpacker) wanted(place string) bool {
	return slices.ContainsFunc(u.directories, func(directory string) bool {
		return place == directory || strings.HasPrefix(place, directory+"/")
	})
}

// another counts an entry or a directory.
func (u *unpacker) another() error {
	if u.count++; u.count > u.limits.Count {
		return fmt.Errorf("the image has more than %d files", u.limits.Count)
	}
	return nil
}

// directory creates a directory, and counts it and those above that were not made before: the path of one entry can name thousands.
func (u *unpacker) directory(place string) error {
	for at := place; at != "." && !u.made[at]; at = path.Dir(at) {
		if err := u.another(); err != nil {
			return err
		}
		u.made[at] = true
		u.space += block
	}
	err := u.root.MkdirAll(place, 0o700)
	for at := place; err != nil && at != "."; at = path.Dir(at) { // it may replace a file of the layers below
		if info, failed := u.root.Lstat(at); failed == nil && !info.IsDir() && !u.written[at] {
			return errors.Join(u.root.Remove(at), u.root.MkdirAll(place, 0o700))
		}
	}
	return err
}

func (u *unpacker) file(entry *tar.Header, place string, content io.Reader) error {
	if entry.Size > u.limits.File {
		return fmt.Errorf("it has %d bytes, more than %d", entry.Size, u.limits.File)
	}
	if u.total += entry.Size; u.total > u.limits.Total {
		return fmt.Errorf("the files of the image have more than %d bytes", u.limits.Total)
	}
	if err := u.directory(path.Dir(place)); err != nil {
		return err
	}
	u.space += entry.Size + block
	if err := u.root.RemoveAll(place); err != nil {
		return err
	}
	file, err := u.root.OpenFile(place, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	u.written[place] = true
	for directory := path.Dir(place); directory != "." && !u.above[directory]; directory = path.Dir(directory) {
		u.above[directory] = true
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

// remove removes what layers below have at a path, or only what is in that directory. The path may be one of the directories, or above.
func (u *unpacker) remove(place string, content bool) error {
	if u.wanted(place) && content {
		return u.empty(place)
	}
	if u.wanted(place) {
		return u.removeAll(place)
	}
	for _, directory := range u.directories {
		if place == "." || strings.HasPrefix(directory, place+"/") {
			if err := u.removeAll(directory); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeAll removes what layers below have at a path.
func (u *unpacker) removeAll(place string) error {
	switch {
	case u.written[place]:
		return nil
	case u.above[place]:
		return u.empty(place)
	}
	return u.root.RemoveAll(place)
}

// empty removes what layers below have in a directory.
func (u *unpacker) empty(directory string) error {
	if u.emptied[directory] {
		return nil
	}
	u.emptied[directory] = true
	entries, err := fs.ReadDir(u.root.FS(), directory)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		if err := u.removeAll(path.Join(directory, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}
