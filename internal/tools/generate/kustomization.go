package generate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/operon-framework/operon/internal/tools/changes"
	"github.com/operon-framework/operon/internal/tools/generate/kustomize"
	"github.com/operon-framework/operon/internal/tools/generate/manifests"
	"github.com/operon-framework/operon/internal/tools/project"
)

// writeBase adds a kustomize base.
func (o *Outputs) writeBase(dir string, operator manifests.Operator, set *changes.Set) error {
	if o.Kustomize == "" {
		return nil
	}
	folder, err := inProject(o.Kustomize)
	if err != nil {
		return err
	}
	names, err := namesIn(dir, project.CRDFolder, set)
	if err != nil {
		return err
	}
	base := kustomize.Base{Folder: folder}
	for _, name := range names {
		base.Definitions = append(base.Definitions, path.Join(project.CRDFolder, name))
	}
	files, err := base.Files(operator)
	if err != nil {
		return err
	}
	var problems []error
	for name, content := range files {
		problems = append(problems, isOurs(dir, name, kustomize.Mark, "directory with --kustomize=DIR"))
		set.Write(name, content)
	}
	return errors.Join(problems...)
}

// isOurs returns an error if a file exists that does not begin with the mark of generated files, so that it is not overwritten.
func isOurs(dir, name, mark, choice string) error {
	content, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) || err == nil && bytes.HasPrefix(unix(content), []byte(mark)) {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("%s was not generated and is not overwritten: move it, or choose another %s", name, choice)
}

// configFolder is the directory with everything that kustomize needs in a project with kubebuilder's layout.
const configFolder = "config"

// writeKubebuilders adds the manifests that install a project with kubebuilder's layout: those that its config/default
// builds.
func (o *Outputs) writeKubebuilders(dir string, set *changes.Set) error {
	switch {
	case o.Kustomize != "":
		return fmt.Errorf("--kustomize: this project has a base of its own, %s", kustomize.Default)
	case o.Helm != "":
		return fmt.Errorf("--helm: charts are generated for projects with the Operon layout; --manifests writes what %s says", kustomize.Default)
	case o.Namespace != "":
		return fmt.Errorf("--namespace has no effect in this project: %s says where the operator runs", kustomize.Default)
	}
	file, err := inProject(o.Manifests)
	if err != nil {
		return err
	}
	files, err := configOf(dir, set)
	if err != nil {
		return err
	}
	objects, err := kustomize.Build(files, kustomize.Default)
	if err != nil {
		return err
	}
	if err := kustomize.Image(objects, o.Image); err != nil {
		return err
	}
	content, err := manifests.YAML(objects)
	set.Write(file, content)
	return err
}

// configOf returns the files below config as they will be after the changes.
func configOf(dir string, set *changes.Set) (map[string][]byte, error) {
	there, err := filesIn(filepath.Join(dir, configFolder))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name, content := range there {
		files[path.Join(configFolder, name)] = content
	}
	for _, name := range set.Paths() {
		content, stays := set.Content(name)
		if stays && strings.HasPrefix(name, configFolder+"/") {
			files[name] = content
		}
		if !stays {
			delete(files, name)
		}
	}
	return files, nil
}
