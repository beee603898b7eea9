package project

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
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
	documents := split(content)
	if len(documents) > maxDocuments {
		return nil, fmt.Errorf("%s:1: has %d documents, at most %d are read", file, len(documents), maxDocuments)
	}
	for _, one := range documents {
		read, err := one.objects(file)
		objects, problems = append(objects, read...), append(problems, err)
	}
	return objects, errors.Join(problems...)
}

// Write returns a manifest of one object.
func Write(object *unstructured.Unstructured) ([]byte, error) {
	encoded, err := json.Marshal(object.Object)
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(escaped(encoded))
}

// escaped replaces characters in strings of JSON that are not allowed in YAML unless they are escaped.
func escaped(encoded []byte) []byte {
	if !bytes.ContainsFunc(encoded, needsEscape) {
		return encoded
	}
	var all bytes.Buffer
	for _, r := range string(encoded) {
		if needsEscape(r) {
			fmt.Fprintf(&all, "\\u%04x", r)
			continue
		}
		all.WriteRune(r)
	}
	return all.Bytes()
}

func needsEscape(r rune) bool {
	return r >= 0x7f && r < 0xa0 || r == 0xfeff || r == 0xfffe || r == 0xffff
}

// KustomizeFiles are the names of kustomize's own files in directories of manifests.
var KustomizeFiles = []string{"kustomization.yaml", "kustomization.yml", "kustomizeconfig.yaml", "kustomizeconfig.yml"}

func isManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)) && !slices.Contains(KustomizeFiles, name)
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
