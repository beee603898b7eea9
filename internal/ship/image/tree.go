package image

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Tree lists the content of a directory as files of an image that all belong to root: their owners on this machine have no
// meaning in a container.
func Tree(dir string) ([]File, error) {
	dir, err := filepath.EvalSymlinks(dir) // the walk does not follow links, not even for the first directory
	if err != nil {
		return nil, fmt.Errorf("read the files of the image: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("read the files of the image: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is a file; name the directory that becomes the root of the image", dir)
	}
	var files []File
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		file, err := fromTree(dir, path, entry)
		files = append(files, file)
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s is empty: an image needs at least one file", dir)
	}
	return files, err
}

func fromTree(dir, path string, entry fs.DirEntry) (File, error) {
	relative, err := filepath.Rel(dir, path)
	if err != nil {
		return File{}, err
	}
	info, err := entry.Info()
	if err != nil {
		return File{}, err
	}
	file := File{Path: filepath.ToSlash(relative), Mode: permissions(info.Mode())}
	if !ownedByRoot(info) {
		file.Mode &^= setIDs // all files of an image belong to root
	}
	switch {
	case info.IsDir():
		file.Folder = true
	case info.Mode()&fs.ModeSymlink != 0:
		file.Link, err = os.Readlink(path)
	case info.Mode().IsRegular():
		file.Size, file.Open = info.Size(), func() (io.ReadCloser, error) { return openSame(path, info) }
	default:
		err = fmt.Errorf("%s is neither a file, a directory nor a link: an image cannot contain it", path)
	}
	return file, err
}

// permissions returns the Unix permission bits of a mode.
func permissions(mode fs.FileMode) int64 {
	bits := int64(mode.Perm())
	for flag, bit := range map[fs.FileMode]int64{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000} {
		if mode&flag != 0 {
			bits |= bit
		}
	}
	return bits
}

// setIDs are the bits that make a program run as its owner or group.
const setIDs = 0o6000

// openSame opens the file that was checked, but not another file that the directory's owner has put or linked there since.
func openSame(path string, before fs.FileInfo) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return nil, err
	}
	now, err := file.Stat()
	if err == nil && !os.SameFile(before, now) {
		err = fmt.Errorf("%s was replaced while the image was built", path)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
