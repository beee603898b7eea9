package debian

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/local"
)

// Options select the packages.
type Options struct {
	// Packages are the requested packages, NAME or NAME=VERSION.
	Packages []string
	// Without lists packages that are left out, even if others depend on them.
	Without []string
	// Documentation includes manuals, translations and similar files. By default they are left out, except for copyright files.
	Documentation bool
	// Tell receives descriptions of the progress.
	Tell func(string)
}

// Root is the content of packages.
type Root struct {
	// Files are the files of all packages. They are read from the given directory.
	Files []image.File
	// Archives are the file names of the packages, with their versions.
	Archives []string
	// Architecture is Debian's name of the packages' architecture.
	Architecture string
}

// Selection are the packages to unpack, with their dependencies.
type Selection struct {
	options  Options
	folder   string
	apt      *apt
	archives []archive
}

// Find finds the packages and their dependencies, without downloading them. The argument folder is a directory for data that must be kept
// while files are read.
func Find(ctx context.Context, folder string, o Options) (*Selection, error) {
	if len(o.Packages) == 0 {
		return nil, errors.New("no package is named")
	}
	apt, err := newApt(ctx, folder, o.Without)
	if err != nil {
		return nil, err
	}
	o.tell("finding packages")
	found, err := apt.resolve(ctx, o.Packages)
	if err != nil {
		return nil, err
	}
	return &Selection{options: o, folder: folder, apt: apt, archives: found}, nil
}

// Unpack is Find and Selection.Unpack.
func Unpack(ctx context.Context, folder string, o Options) (*Root, error) {
	found, err := Find(ctx, folder, o)
	if err != nil {
		return nil, err
	}
	return found.Unpack(ctx)
}

// Unpack downloads the packages and lists their files.
func (s *Selection) Unpack(ctx context.Context) (*Root, error) {
	archives, unlock, err := lockArchives(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	o := s.options
	o.tell("downloading " + plural.Count(len(s.archives), "package"))
	if _, err := s.apt.install(ctx, archives, append([]string{"--download-only", "--reinstall", "--"}, o.Packages...)...); err != nil {
		return nil, explain(err)
	}
	root := &Root{Architecture: s.apt.architecture}
	tree := newTree(o.Documentation)
	for i, archive := range s.archives {
		o.tell("reading " + archive.name)
		if err := archive.verify(archives); err != nil {
			return nil, err
		}
		data := filepath.Join(s.folder, fmt.Sprintf("data-%d.tar", i))
		if err := tree.unpack(ctx, filepath.Join(archives, archive.name), data); err != nil {
			return nil, err
		}
		root.Archives = append(root.Archives, archive.name)
	}
	root.Files, err = tree.finish(ctx, s.folder)
	return root, err
}

// Key identifies the selected packages, their versions and the options: the same key gives the same files.
func (s *Selection) Key() string {
	sum := sha256.New()
	fmt.Fprintln(sum, "1", s.options.Documentation) // 1: increase it if other files are made of the same packages
	for _, one := range s.archives {
		fmt.Fprintln(sum, one.name, one.sum)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Platform returns the platform of the packages, in the form of image platforms.
func (s *Selection) Platform() string { return platformOf(s.apt.architecture) }

// Package is a selected package.
type Package struct {
	// Distribution is the ID in the os-release of this machine, such as debian.
	Distribution string
	// Name, Version and Architecture are those of the package. The architecture of packages for all is "all".
	Name, Version, Architecture string
}

// Packages returns the selected packages, sorted by their names.
func (s *Selection) Packages() []Package {
	distribution := distribution()
	var all []Package
	for _, one := range s.archives {
		parts := strings.Split(strings.TrimSuffix(one.name, ".deb"), "_")
		if len(parts) != 3 {
			parts = append(parts, "", "")
		}
		version, err := url.PathUnescape(parts[1]) // a colon is escaped
		if err != nil {
			version = parts[1]
		}
		all = append(all, Package{distribution, parts[0], version, parts[2]})
	}
	return all
}

// distribution returns the ID of this machine's distribution.
func distribution() string {
	content, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return "debian"
	}
	for line := range strings.Lines(string(content)) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "ID="); ok {
			return strings.Trim(id, `"`)
		}
	}
	return "debian"
}

func (o Options) tell(doing string) {
	if o.Tell != nil {
		o.Tell(doing)
	}
}

// lockArchives returns the directory of downloaded packages, locked for this process.
func lockArchives(ctx context.Context) (string, func() error, error) {
	folder, err := local.Folder("packages")
	if err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(filepath.Join(folder, "partial"), 0o700); err != nil { // where apt-get downloads to
		return "", nil, err
	}
	lock, err := local.WaitLock(ctx, filepath.Join(folder, "lock.operon"), func() {})
	if err != nil {
		return "", nil, err
	}
	return folder, lock.Unlock, nil
}

// extract writes the files of a package as a tar file.
func extract(ctx context.Context, archive, data string) error {
	// dpkg-deb supports all compressions of packages.
	_, err := run(ctx, "sh", "-c", `exec dpkg-deb --fsys-tarfile "$1" >"$2"`, "sh", archive, data)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", filepath.Base(archive), err)
	}
	return nil
}

// installedPackages is the directory in which images without dpkg describe their packages, one file for each. Vulnerability scanners read it.
const installedPackages = "var/lib/dpkg/status.d/"

// unpack adds the files of a package, and its description.
func (t *tree) unpack(ctx context.Context, archive, data string) error {
	if err := extract(ctx, archive, data); err != nil {
		return err
	}
	description, err := run(ctx, "dpkg-deb", "--field", archive)
	if err != nil {
		return err
	}
	name, _, _ := strings.Cut(filepath.Base(archive), "_")
	t.offer(image.Content(installedPackages+name, 0o644, []byte(description)))
	return t.add(filepath.Base(archive), data)
}

// tree holds the files of packages, one for each path.
type tree struct {
	documentation bool
	files         map[string]image.File
	owner         map[string]string
}

func newTree(documentation bool) *tree {
	return &tree{documentation, map[string]image.File{}, map[string]string{}}
}

// add adds the files of a package.
func (t *tree) add(name, data string) error {
	file, err := os.Open(data)
	if err != nil {
		return err
	}
	defer file.Close()
	archive := tar.NewReader(file)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		at, err := file.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		if err := t.entry(name, data, at, header); err != nil {
			return err
		}
	}
}

// entry adds a file that begins at an offset of data.
func (t *tree) entry(owner, data string, at int64, header *tar.Header) error {
	place := merged(header.Name)
	if place == "" || t.skip(place) {
		return nil
	}
	file := image.File{Path: place, Mode: header.Mode & 0o7777, UID: header.Uid, GID: header.Gid}
	switch header.Typeflag {
	case tar.TypeDir:
		file.Folder = true
	case tar.TypeSymlink:
		file.Link = header.Linkname
	case tar.TypeLink:
		file.Same = merged(header.Linkname)
	case tar.TypeReg:
		file.Size, file.Open = header.Size, section(data, at, header.Size)
	default:
		return fmt.Errorf("%s contains %s, which is not a file, directory or link", owner, header.Name)
	}
	return t.put(owner, file)
}

// put adds a file. It fails if another package has the same file. Directories may be shared.
func (t *tree) put(owner string, file image.File) error {
	before, there := t.files[file.Path]
	if there && !(before.Folder && file.Folder) {
		return fmt.Errorf("%s and %s both contain /%s", t.owner[file.Path], owner, file.Path)
	}
	if !there {
		t.files[file.Path], t.owner[file.Path] = file, owner
	}
	return nil
}

// section returns a function that opens a part of a file.
func section(data string, at, size int64) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		file, err := os.Open(data)
		if err != nil {
			return nil, err
		}
		return struct {
			io.Reader
			io.Closer
		}{io.NewSectionReader(file, at, size), file}, nil
	}
}

// moved lists directories that are links into /usr on every Debian since 12. Packages may still use them.
var moved = []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32"}

// merged returns the actual path for a path in a package, without the leading slash. It returns "" for the root itself and
// for the links into /usr.
func merged(name string) string {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	first, _, below := strings.Cut(name, "/")
	if !slices.Contains(moved, first) {
		return name
	}
	if !below {
		return ""
	}
	return "usr/" + name
}

// idle lists directories with files that no program needs to run.
var idle = []string{"usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/locale", "usr/share/lintian", "usr/share/doc-base", "usr/share/bug"}

// skip reports whether a file is left out. Licenses are always included.
func (t *tree) skip(place string) bool {
	if t.documentation || path.Base(place) == "copyright" {
		return false
	}
	return slices.ContainsFunc(idle, func(folder string) bool { return place == folder || strings.HasPrefix(place, folder+"/") })
}
