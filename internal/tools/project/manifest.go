package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ReadFolder reads all manifests (*.yaml, *.yml, *.json) right in root/directory, in order of their
// names. Kustomize's own files are left out. A directory that does not exist has no objects. Files in
// errors and in the objects are named relative to root.
func ReadFolder(root, folder string) ([]Object, error) {
	entries, err := os.ReadDir(filepath.Join(root, folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var objects []Object
	var problems []error
	for _, entry := range entries {
		if entry.IsDir() || !isManifest(entry.Name()) {
			continue
		}
		read, err := ReadFile(root, filepath.Join(folder, entry.Name()))
		objects, problems = append(objects, read...), append(problems, err)
	}
	return objects, errors.Join(problems...)
}

// ReadFile reads the manifest root/file: documents of YAML or JSON, Lists taken apart.
func ReadFile(root, file string) ([]Object, error) {
	content, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return nil, err
	}
	return Parse(file, content)
}

// Parse reads a manifest that is not on a disk, or not yet. File is what errors and objects call it.
func Parse(file string, content []byte) ([]Object, error) {
	var objects []Object
	var problems []error
	for _, one := range split(content) {
		read, err := one.objects(file)
		objects, problems = append(objects, read...), append(problems, err)
	}
	return objects, errors.Join(problems...)
}

func isManifest(name string) bool {
	extensions := []string{".yaml", ".yml", ".json"}
	return slices.Contains(extensions, filepath.Ext(name)) && !strings.HasPrefix(name, "kustom")
}

// readCRDs reads config/crd/bases where that exists, as in kubebuilder projects, whose
// config/crd has kustomize's files only, and else config/crd.
func readCRDs(root string) ([]Object, error) {
	folder := CRDFolder
	if info, err := os.Stat(filepath.Join(root, CRDFolder, "bases")); err == nil && info.IsDir() {
		folder = filepath.Join(CRDFolder, "bases")
	}
	objects, err := ReadFolder(root, folder)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if object.GetKind() != "CustomResourceDefinition" {
			return nil, fmt.Errorf("%s: a %s; %s is for CustomResourceDefinitions", object.Place(), object.GetKind(), folder)
		}
	}
	return objects, nil
}
