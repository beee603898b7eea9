package chartkind

import (
	"bytes"
	"context"
	"os"
	"path"
	"path/filepath"

	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/ansible"
	"github.com/operon-framework/operon/engine/helm"
	"github.com/operon-framework/operon/internal/tools/project"
)

// Files returns the manifests that are derived from the charts of the project in dir, by their names: the CustomResourceDefinition of each
// kind, and the permissions of the operator. A file without Mark is the author's own. It is listed in kept instead of files.
func Files(ctx context.Context, dir, operator string) (files map[string][]byte, kept []string, err error) {
	kinds, err := read(dir)
	if err != nil || len(kinds) == 0 {
		return nil, nil, err
	}
	definitions, err := project.ReadCRDs(dir)
	if err != nil {
		return nil, nil, err
	}
	grants, err := project.ReadFolder(dir, project.RBACFolder)
	if err != nil {
		return nil, nil, err
	}
	files = map[string][]byte{}
	add := func(name string, content []byte) {
		there, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err == nil && !bytes.HasPrefix(bytes.ReplaceAll(there, []byte("\r\n"), []byte("\n")), []byte(Mark)) {
			kept = append(kept, name)
			return
		}
		files[name] = content // any other read error also occurs when the file is written
	}
	for _, kind := range kinds {
		content, err := CRD(kind)
		if err != nil {
			return nil, nil, err
		}
		add(definitionFile(dir, definitions, kind), content)
	}
	roles, err := Roles(ctx, operator, kinds...)
	add(roleFile(dir, grants), roles)
	return files, kept, err
}

// read reads the kinds in watches.yaml, and their charts.
func read(dir string) ([]Kind, error) {
	watches, err := engine.Read(filepath.Join(dir, project.WatchesFile), helm.Engine{}, &ansible.Engine{})
	if err != nil {
		return nil, err
	}
	var kinds []Kind
	for _, watch := range watches {
		if watch.Engine() != (helm.Engine{}).Name() {
			continue // the author writes the CRDs of roles
		}
		place, err := watch.Path("chart")
		if err != nil {
			return nil, err
		}
		chart, err := helm.Load(place)
		if err != nil {
			return nil, watch.Errorf("chart", "%w", err)
		}
		stores, err := helm.Stores(watch)
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, Kind{GroupVersionKind: watch.Kind, Chart: chart, Stores: stores})
	}
	return kinds, nil
}

// definitionFile returns the file that contains the definition of a kind, or the file to create.
func definitionFile(dir string, definitions []project.Object, kind Kind) string {
	name := project.Plural(kind.Kind) + "." + kind.Group
	for _, one := range definitions {
		if one.GetName() == name {
			return filepath.ToSlash(one.File)
		}
	}
	folder := project.CRDFolder
	if info, err := os.Stat(filepath.Join(dir, folder, "bases")); err == nil && info.IsDir() {
		folder = path.Join(folder, "bases") // then no others are read
	}
	return path.Join(folder, kind.Group+"_"+project.Plural(kind.Kind)+".yaml")
}

// roleFile returns the file with the generated permissions, or else the first file with Roles, or else the file to
// create.
func roleFile(dir string, grants []project.Object) string {
	usual := path.Join(project.RBACFolder, RoleFile)
	if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(usual))); err == nil || len(grants) == 0 {
		return usual
	}
	return filepath.ToSlash(grants[0].File)
}
