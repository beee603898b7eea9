package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// File is a file, a directory or a link in a layer.
type File struct {
	// Path is its path from the root of the image, with slashes.
	Path string
	// Mode holds the permissions, with setuid, setgid and sticky bits as in Unix.
	Mode int64
	// UID and GID are the owner and group, by default root.
	UID, GID int
	// Link makes the file a symbolic link to this path.
	Link string
	// Same makes the file a hard link to the file at this path.
	Same string
	// Folder makes the file a directory.
	Folder bool
	// Size is the number of bytes that Open returns.
	Size int64
	// Open opens the content of a file. It is read once.
	Open func() (io.ReadCloser, error)
}

// Content returns a file with the given content.
func Content(path string, mode int64, content []byte) File {
	return File{Path: path, Mode: mode, Size: int64(len(content)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}}
}

// FromDisk returns a file with the content of the file named from.
func FromDisk(path string, mode int64, from string) (File, error) {
	info, err := os.Stat(from)
	if err != nil {
		return File{}, err
	}
	return File{Path: path, Mode: mode, Size: info.Size(), Open: func() (io.ReadCloser, error) { return os.Open(from) }}, nil
}

// ordered returns files sorted by their paths, with all directories above them, because a directory must come before the
// files in it. Hard links are last, because their targets must come before them. It fails for duplicate paths and for paths
// that contain "..".
func ordered(files []File) ([]File, error) {
	byPath := map[string]File{}
	for _, file := range files {
		if slices.Contains(strings.Split(file.Path, "/"), "..") {
			return nil, fmt.Errorf("%s has .. in it: want a path from the root of the image", file.Path)
		}
		file.Path = strings.TrimPrefix(path.Clean("/"+file.Path), "/")
		if file.Path == "" {
			continue // the root itself always exists
		}
		if _, twice := byPath[file.Path]; twice {
			return nil, fmt.Errorf("/%s is in the layer twice", file.Path)
		}
		byPath[file.Path] = file
	}
	if err := addFolders(byPath); err != nil {
		return nil, err
	}
	all := make([]File, 0, len(byPath))
	for _, file := range byPath {
		all = append(all, file)
	}
	slices.SortFunc(all, func(a, b File) int {
		if (a.Same == "") != (b.Same == "") {
			return strings.Compare(a.Same, b.Same) // "" is first
		}
		return strings.Compare(a.Path, b.Path)
	})
	return all, nil
}

// addFolders adds the directories above the files.
func addFolders(byPath map[string]File) error {
	for _, name := range slices.Sorted(maps.Keys(byPath)) {
		for above := path.Dir(name); above != "."; above = path.Dir(above) {
			file, there := byPath[above]
			if !there {
				byPath[above] = File{Path: above, Mode: 0o755, Folder: true}
				continue
			}
			if !file.Folder {
				return fmt.Errorf("/%s belongs into /%s, which is not a directory", name, above)
			}
		}
	}
	return nil
}

// header returns the entry of a file in a layer: without time, user names, and anything else from this machine.
func (f File) header() *tar.Header {
	header := &tar.Header{Name: f.Path, Mode: f.Mode, Uid: f.UID, Gid: f.GID, Typeflag: tar.TypeReg, Size: f.Size, ModTime: Epoch, Format: tar.FormatPAX}
	switch {
	case f.Folder:
		header.Typeflag, header.Name, header.Size = tar.TypeDir, f.Path+"/", 0
	case f.Link != "":
		header.Typeflag, header.Linkname, header.Size, header.Mode = tar.TypeSymlink, f.Link, 0, 0o777
	case f.Same != "":
		header.Typeflag, header.Linkname, header.Size = tar.TypeLink, strings.TrimPrefix(path.Clean("/"+f.Same), "/"), 0
	}
	return header
}

// write writes the file to an archive.
func (f File) write(archive *tar.Writer) error {
	header := f.header()
	if err := archive.WriteHeader(header); err != nil {
		return fmt.Errorf("put /%s into a layer: %w", f.Path, err)
	}
	if header.Typeflag != tar.TypeReg || f.Size == 0 {
		return nil
	}
	content, err := f.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	n, err := io.CopyN(archive, content, f.Size)
	if err == io.EOF {
		return fmt.Errorf("/%s became shorter while it was read: %d bytes of %d", f.Path, n, f.Size)
	}
	if err != nil {
		return err
	}
	switch _, err := io.CopyN(io.Discard, content, 1); err {
	case io.EOF:
		return nil
	case nil:
		return fmt.Errorf("/%s became longer while it was read: it had %d bytes", f.Path, f.Size)
	default:
		return err
	}
}
