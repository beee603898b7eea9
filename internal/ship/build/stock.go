package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/ansible"
	"github.com/operon-framework/operon/engine/helm"
	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/internal/tools/project"
)

// stock is what the image of an operator without Go code has besides the program.
type stock struct {
	// home is the directory for watches.yaml and the files that it names, relative to the root.
	home string
	// files are watches.yaml and the files that it names, by their names relative to the project.
	files map[string]string
	// packages are Debian packages.
	packages []string
	needs    []func(has func(path string) bool) error
}

// readStock returns what the image of the project in dir needs. It performs the same checks as the program at its start.
func readStock(dir string) (*stock, error) {
	watches := filepath.Join(dir, project.WatchesFile)
	read, err := engine.Read(watches, helm.Engine{}, &ansible.Engine{})
	if err != nil {
		return nil, err
	}
	programs, err := engine.Programs(read)
	if err != nil {
		return nil, err
	}
	s := &stock{files: map[string]string{project.WatchesFile: watches}}
	for _, program := range programs {
		if s.home == "" || len(program.Image.Packages) > 0 {
			s.home = strings.TrimPrefix(program.Image.Dir, "/")
		}
		s.packages = append(s.packages, program.Image.Packages...)
		if program.Image.Needs != nil {
			s.needs = append(s.needs, program.Image.Needs)
		}
		for _, one := range program.Files {
			found, err := filesBelow(dir, one)
			if err != nil {
				return nil, err
			}
			maps.Copy(s.files, found)
		}
	}
	slices.Sort(s.packages)
	s.packages = slices.Compact(s.packages)
	return s, nil
}

// toolchain returns the go command in the directory of the main package's module.
func (b *builder) toolchain(ctx context.Context) (toolchain, error) {
	tools, err := newToolchain(b.project.Dir, b.Tags)
	if err == nil && b.project.Main.Stock() {
		tools.dir, err = project.StockSources(ctx)
	}
	return tools, err
}

// content returns the layer with watches.yaml and the files that it names. The revision is marked as dirty if one of the files is not in the
// repository.
func (b *builder) content(ctx context.Context) (image.Layer, error) {
	judged := map[string]string{}
	var files []image.File
	for name, from := range b.stock.files {
		info, err := os.Stat(from)
		if err != nil {
			return image.Layer{}, err
		}
		mode := int64(0o644)
		if info.Mode()&0o111 != 0 {
			mode = 0o755 // a script of a role
		}
		file, err := image.FromDisk(path.Join(b.stock.home, filepath.ToSlash(name)), mode, from)
		if err != nil {
			return image.Layer{}, fmt.Errorf("read the files of the operator: %w", err)
		}
		files, judged[from] = append(files, file), "in the image"
	}
	if err := b.revision.judge(ctx, judged); err != nil {
		return image.Layer{}, err
	}
	return b.cache.store.Layer(ctx, "operon build: /"+b.stock.home, files)
}

// filesBelow returns the files at and below a path by their names relative to dir, which must contain all of them. Links to files in dir
// become regular files.
func filesBelow(dir, from string) (map[string]string, error) {
	inside, err := filepath.Rel(dir, from)
	if err != nil || !filepath.IsLocal(inside) {
		return nil, fmt.Errorf("%s is outside of the project: an image can only contain files of %s", from, dir)
	}
	root, err := os.OpenRoot(dir) // follows no link out of the project
	if err != nil {
		return nil, err
	}
	defer root.Close()
	files := map[string]string{}
	err = fs.WalkDir(root.FS(), filepath.ToSlash(inside), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := root.Stat(name)
		if err == nil && !info.Mode().IsRegular() {
			err = errors.New("an image can contain files and links to files only")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
		}
		files[name] = filepath.Join(dir, filepath.FromSlash(name))
		return nil
	})
	return files, err
}
