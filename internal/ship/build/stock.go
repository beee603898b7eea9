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

	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/ansible"
	"github.com/operon-framework/operon/engine/helm"
	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/internal/tools/project"
)

// stockHome is the directory for watches.yaml and the files that it names in the image of an operator without Go code. It is the same as in
// Operator SDK's images, so that absolute paths in manifests of its projects remain valid.
const stockHome = "opt/helm"

// toolchain returns the go command in the directory of the main package's module.
func (b *builder) toolchain(ctx context.Context) (toolchain, error) {
	dir := b.project.Dir
	if b.project.Main.Stock() {
		var err error
		if dir, err = project.StockSources(ctx); err != nil {
			return toolchain{}, err
		}
	}
	return newToolchain(dir, b.Tags)
}

// content returns the additional layers of an operator without Go code: watches.yaml, and the files that it names. Other operators have
// none. The revision is marked as dirty if one of the files is not in the repository.
func (b *builder) content(ctx context.Context) ([]image.Layer, error) {
	if !b.project.Main.Stock() {
		return nil, nil
	}
	inputs, err := stockFiles(b.project.Dir)
	if err != nil {
		return nil, err
	}
	judged := map[string]string{}
	var files []image.File
	for name, from := range inputs {
		file, err := image.FromDisk(path.Join(stockHome, filepath.ToSlash(name)), 0o644, from)
		if err != nil {
			return nil, fmt.Errorf("read the files of the operator: %w", err)
		}
		files, judged[from] = append(files, file), "in the image"
	}
	if err := b.revision.judge(judged); err != nil {
		return nil, err
	}
	layer, err := b.cache.store.Layer(ctx, "operon build: /"+stockHome, files)
	return []image.Layer{layer}, err
}

// stockFiles returns the files that the program reads when it runs watches.yaml, by their names relative to the project in dir. It performs
// the same checks as the program at its start.
func stockFiles(dir string) (map[string]string, error) {
	watches := filepath.Join(dir, project.WatchesFile)
	read, err := engine.Read(watches, helm.Engine{}, &ansible.Engine{})
	if err != nil {
		return nil, err
	}
	for _, watch := range read {
		if watch.Engine() == (&ansible.Engine{}).Name() {
			return nil, watch.Errorf("kind", "the images that operon makes have no Python, which the role or playbook of %s needs: run the operator with operon up, or add operon-engine to an image that has Ansible", watch.Kind.Kind)
		}
	}
	named, err := engine.Files(read)
	if err != nil {
		return nil, err
	}
	files := map[string]string{project.WatchesFile: watches}
	for _, one := range named {
		found, err := filesBelow(dir, one)
		if err != nil {
			return nil, err
		}
		maps.Copy(files, found)
	}
	return files, nil
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
