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

// ReadFolder reads all manifests (*.yaml, *.yml, *.json) directly in root/folder, ordered by name. It skips kustomize's own
// files. A directory that does not exist has no objects. Errors and objects name files relative to root.
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

// ReadFile reads the manifest root/file: documents of YAML or JSON. Lists are expanded to their objects.
func ReadFile(root, file string) ([]Object, error) {
	content, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return nil, err
	}
	return Parse(file, content)
}

// Parse parses a manifest that need not exist as a file. Errors and objects use file as its name.
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

// readCRDs reads the CustomResourceDefinitions of the project and, for an operator without Go code, of its charts.
func readCRDs(root string) ([]Object, error) {
	own, err := ReadCRDs(root)
	if err != nil || !WithoutGo(root) {
		return own, err
	}
	charts, err := chartCRDs(root, own)
	return append(own, charts...), err
}

// ReadCRDs reads the CustomResourceDefinitions in config/crd/bases if it exists, as in kubebuilder projects, whose config/crd
// contains only kustomize's files. Otherwise it reads config/crd.
func ReadCRDs(root string) ([]Object, error) {
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
