package generate

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/operon-framework/operon/internal/tools/changes"
	"github.com/operon-framework/operon/internal/tools/generate/chart"
	"github.com/operon-framework/operon/internal/tools/generate/manifests"
	"github.com/operon-framework/operon/internal/tools/project"
)

// writeInstall adds the files that install the operator, in the requested forms.
func (o *Outputs) writeInstall(dir string, set *changes.Set, note func(string)) error {
	if o.Manifests == "" && o.Helm == "" && o.Kustomize == "" {
		return nil
	}
	if o.Manifests != "" {
		file, err := inProject(o.Manifests)
		if err != nil {
			return err
		}
		if file != "dist/install.yaml" { // kubebuilder's Makefile also writes the usual file
			if err := isOurs(dir, file, manifests.Mark, "file with --manifests=FILE"); err != nil {
				return err
			}
		}
	}
	if isKubebuilders(dir) {
		return o.writeKubebuilders(dir, set)
	}
	operator, err := o.operator(dir, set)
	if err != nil {
		return err
	}
	return errors.Join(o.writeManifests(operator, set), o.writeBase(dir, operator, set), o.writeChart(dir, operator, set, note))
}

func (o *Outputs) writeManifests(operator manifests.Operator, set *changes.Set) error {
	if o.Manifests == "" {
		return nil
	}
	file, err := inProject(o.Manifests)
	if err != nil {
		return err
	}
	content, err := operator.Manifest()
	set.Write(file, content)
	return err
}

func (o *Outputs) writeChart(dir string, operator manifests.Operator, set *changes.Set, note func(string)) error {
	if o.Helm == "" {
		return nil
	}
	folder, err := inProject(o.Helm)
	if err != nil {
		return err
	}
	now, err := chart.Files(operator)
	if err != nil {
		return err
	}
	there, err := filesIn(filepath.Join(dir, folder))
	if err != nil {
		return err
	}
	merged, err := chart.Merge(there, now)
	if err != nil {
		return fmt.Errorf("%s/%w", folder, err)
	}
	for name, content := range merged.Write {
		set.Write(path.Join(folder, name), content)
	}
	for _, name := range merged.Remove {
		set.Remove(path.Join(folder, name))
	}
	for _, text := range merged.Notes {
		note(folder + "/" + text)
	}
	return nil
}

// filesIn reads all files below a directory, by their paths in it. The directory need not exist.
func filesIn(folder string) (map[string][]byte, error) {
	files := map[string][]byte{}
	names, err := marked(folder, "") // which all have
	for _, name := range names {
		if err == nil {
			files[name], err = os.ReadFile(filepath.Join(folder, name))
		}
	}
	return files, err
}

// operator returns the project's operator, with its manifests as they will be after the changes.
func (o *Outputs) operator(dir string, set *changes.Set) (manifests.Operator, error) {
	p, err := project.Identify(dir, project.Options{})
	if err != nil {
		return manifests.Operator{}, err
	}
	if p.CRDs, err = folderOf(dir, project.CRDFolder, set); err != nil {
		return manifests.Operator{}, err
	}
	rights, err := folderOf(dir, project.RBACFolder, set)
	if err != nil {
		return manifests.Operator{}, err
	}
	p.Grants = project.GrantsOf(dir, rights)
	policies, err := folderOf(dir, project.PolicyFolder, set)
	if err != nil {
		return manifests.Operator{}, err
	}
	p.Policies = project.PoliciesOf(policies)
	operator, err := manifests.Of(p, o.Image)
	operator.Image = cmp.Or(operator.Image, operator.Name+":latest")
	operator.Namespace = cmp.Or(o.Namespace, operator.Namespace)
	return operator, err
}

// folderOf reads the manifests in a directory as they will be after the changes.
func folderOf(dir, folder string, set *changes.Set) ([]project.Object, error) {
	names, err := namesIn(dir, folder, set)
	if err != nil {
		return nil, err
	}
	var all []project.Object
	var problems []error
	for _, name := range names {
		file := path.Join(folder, name)
		content, planned := set.Content(file)
		if !planned {
			if content, err = os.ReadFile(filepath.Join(dir, file)); err != nil {
				return nil, err
			}
		}
		objects, err := project.Parse(file, content)
		all, problems = append(all, objects...), append(problems, err)
	}
	return all, errors.Join(problems...)
}

// namesIn returns the names of the manifests directly in a directory after the changes: existing ones that stay, and new
// ones.
func namesIn(dir, folder string, set *changes.Set) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(dir, folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	planned := set.Paths()
	var names []string
	for _, entry := range entries {
		if !entry.IsDir() && !slices.Contains(planned, path.Join(folder, entry.Name())) {
			names = append(names, entry.Name())
		}
	}
	for _, file := range planned {
		if _, stays := set.Content(file); stays && path.Dir(file) == folder {
			names = append(names, path.Base(file))
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return path.Ext(name) != ".yaml" && path.Ext(name) != ".yml" || slices.Contains(project.KustomizeFiles, name)
	})
	slices.Sort(names)
	return names, nil
}
