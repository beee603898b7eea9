// Package kustomize writes a kustomize base that installs an operator, and builds the base of a kubebuilder project.
//
// The base contains the objects of package manifests, and refers to the project's definitions at their place. It is generated
// and never edited: differences for an environment belong in a separate overlay.
package kustomize

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/operon-framework/operon/internal/tools/generate/manifests"
)

// Default is the directory of the base in kubebuilder projects.
const Default = "config/default"

// Mark is in every file of a base, so that files written by a user are recognized.
const Mark = "# Written by operon generate --kustomize; edits are lost.\n"

// header is the beginning of a kustomization.
const header = Mark + `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
`

// Base describes the place of a base and the files that it refers to. All paths are relative to the project, with slashes.
type Base struct {
	// Folder is the directory of the base.
	Folder string
	// Definitions are the files of the project's CustomResourceDefinitions, all in one directory.
	Definitions []string
}

// Files returns the files of a base for the operator, by their paths: the objects, and the kustomizations of the base and of
// the definitions' directory.
//
// It fails if the operator cannot be installed.
func (b Base) Files(o manifests.Operator) (map[string][]byte, error) {
	o.Definitions = nil // they are referred to
	objects, err := o.Objects()
	if err != nil {
		return nil, err
	}
	text, err := manifests.YAML(objects)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{path.Join(b.Folder, "operator.yaml"): append([]byte(Mark), bytes.TrimPrefix(text, []byte(manifests.Mark))...)}
	resources := []string{"operator.yaml"}
	if len(b.Definitions) > 0 {
		folder := path.Dir(b.Definitions[0])
		way, err := filepath.Rel(filepath.FromSlash(b.Folder), filepath.FromSlash(folder))
		if err != nil {
			return nil, err
		}
		resources = append([]string{filepath.ToSlash(way)}, resources...)
		var names []string
		for _, file := range b.Definitions {
			names = append(names, path.Base(file))
		}
		files[path.Join(folder, "kustomization.yaml")] = kustomization(names)
	}
	files[path.Join(b.Folder, "kustomization.yaml")] = kustomization(resources)
	return files, nil
}

func kustomization(resources []string) []byte {
	return []byte(header + "- " + strings.Join(resources, "\n- ") + "\n")
}

// Build returns the output of `kustomize build FOLDER` for files by their paths, which may be on disk or not. It returns
// kustomize's own errors.
func Build(files map[string][]byte, folder string) ([]*unstructured.Unstructured, error) {
	memory := filesys.MakeFsInMemory()
	for name, content := range files {
		if err := memory.WriteFile("/"+name, content); err != nil {
			return nil, err
		}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(memory, "/"+folder)
	if err != nil {
		return nil, fmt.Errorf("kustomize build %s: %w", folder, err)
	}
	var objects []*unstructured.Unstructured
	for _, resource := range built.Resources() {
		fields, err := resource.Map()
		if err != nil {
			return nil, err
		}
		encoded := &unstructured.Unstructured{Object: fields}
		objects = append(objects, encoded)
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	return objects, nil
}

// BuildDirectory builds the kustomization in a directory on disk, like "kustomize build", and returns its objects as YAML.
// Remote bases need the network.
func BuildDirectory(directory string) ([]byte, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory)
	if err != nil {
		return nil, fmt.Errorf("kustomize build %s: %w", directory, err)
	}
	return built.AsYaml()
}

// rank sorts objects that others need first.
func rank(object *unstructured.Unstructured) int {
	if i := slices.Index([]string{"Namespace", "CustomResourceDefinition", "ServiceAccount"}, object.GetKind()); i >= 0 {
		return i
	}
	return 9
}

// Image sets the image of the operator's Deployment among objects; "" keeps its image. The operator's Deployment is the first
// one with only one container, or with a container named manager, as in kubebuilder projects.
//
// It fails if there is no such Deployment.
func Image(objects []*unstructured.Unstructured, image string) error {
	if image == "" {
		return nil
	}
	for _, object := range objects {
		if object.GetKind() != "Deployment" {
			continue
		}
		containers, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
		if err != nil {
			return err
		}
		for _, one := range containers {
			container, _ := one.(map[string]any)
			if container["name"] == "manager" || len(containers) == 1 {
				container["image"] = image
				return unstructured.SetNestedSlice(object.Object, containers, "spec", "template", "spec", "containers")
			}
		}
	}
	return fmt.Errorf("no Deployment has a container %q to run %s: set the image in %s with kustomize", "manager", image, Default)
}
