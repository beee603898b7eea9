package doctor

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/tools/generate/kustomize"
	"github.com/operon-framework/operon/internal/tools/project"
)

// kustomization is the part of a kustomization that says which files it reads.
type kustomization struct {
	Resources             []string    `json:"resources"`
	Bases                 []string    `json:"bases"`
	Components            []string    `json:"components"`
	PatchesStrategicMerge []string    `json:"patchesStrategicMerge"`
	Patches               []patchFile `json:"patches"`
	PatchesJSON6902       []patchFile `json:"patchesJson6902"`

	text string
}

type patchFile struct {
	Path string `json:"path"`
}

// config holds the files below config, and the kustomizations by their directories. Paths are relative to the project.
type config struct {
	files          map[string][]byte
	kustomizations map[string]*kustomization
	names          map[string]string // the file of each kustomization
}

// kustomized returns the objects as they are deployed: as kustomize builds them from config/default, each at the place of its
// source. Patches are not objects. Objects that config/default does not use remain as they are, and so do all objects if it
// cannot be built without the network.
func kustomized(dir string, objects []project.Object) []project.Object {
	c := readConfig(dir)
	patches := c.patches()
	objects = slices.DeleteFunc(slices.Clone(objects), func(o project.Object) bool { return patches[filepath.ToSlash(o.File)] })
	used := map[string]bool{}
	if !c.local(kustomize.Default, used) {
		return objects
	}
	built, err := c.build()
	if err != nil {
		return objects
	}
	var all []project.Object
	for _, object := range objects {
		file := filepath.ToSlash(object.File)
		if !used[file] {
			all = append(all, object)
			continue
		}
		for _, one := range built {
			if origin(one) == file && one.GetKind() == object.GetKind() && strings.Contains(one.GetName(), object.GetName()) {
				object.Unstructured = one
				all = append(all, object)
				break
			}
		}
	}
	return all
}

// readConfig reads the files below config. What cannot be read is left out.
func readConfig(dir string) *config {
	c := &config{files: map[string][]byte{}, kustomizations: map[string]*kustomization{}, names: map[string]string{}}
	_ = filepath.WalkDir(filepath.Join(dir, "config"), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil
		}
		content, err := os.ReadFile(file)
		relative, outside := filepath.Rel(dir, file)
		if err != nil || outside != nil {
			return nil
		}
		name := filepath.ToSlash(relative)
		c.files[name] = content
		if !slices.Contains([]string{"kustomization.yaml", "kustomization.yml", "Kustomization"}, path.Base(name)) {
			return nil
		}
		one := &kustomization{}
		plain, err := yaml.YAMLToJSON(content) // without comments, which may mention addresses
		if err == nil && yaml.Unmarshal(plain, one) == nil {
			one.text = string(plain)
			c.kustomizations[path.Dir(name)], c.names[path.Dir(name)] = one, name
		}
		return nil
	})
	return c
}

// patches returns the files that kustomizations use as patches.
func (c *config) patches() map[string]bool {
	all := map[string]bool{}
	for folder, one := range c.kustomizations {
		for _, file := range one.PatchesStrategicMerge {
			all[path.Join(folder, file)] = true // or the text of a patch, which is not the name of a file
		}
		for _, patch := range slices.Concat(one.Patches, one.PatchesJSON6902) {
			all[path.Join(folder, patch.Path)] = true
		}
	}
	return all
}

// local reports whether a kustomization, and those that it uses, read only files below config. It adds them, and the
// files with resources, to used.
func (c *config) local(folder string, used map[string]bool) bool {
	if used[folder] {
		return true
	}
	used[folder] = true
	one := c.kustomizations[folder]
	if one == nil || strings.Contains(one.text, "://") {
		return false
	}
	for _, resource := range slices.Concat(one.Resources, one.Bases, one.Components) {
		name := path.Join(folder, resource)
		if c.files[name] != nil {
			used[name] = true
			continue
		}
		if !c.local(name, used) {
			return false
		}
	}
	return true
}

// build builds config/default. Each object has an annotation with the file that it is from.
func (c *config) build() ([]*unstructured.Unstructured, error) {
	for folder, name := range c.names {
		fields := map[string]any{}
		if err := yaml.Unmarshal(c.files[name], &fields); err != nil {
			return nil, err
		}
		c.modernize(folder, fields)
		if folder == kustomize.Default {
			fields["buildMetadata"] = []string{"originAnnotations"}
		}
		encoded, err := yaml.Marshal(fields)
		if err != nil {
			return nil, err
		}
		c.files[name] = encoded
	}
	return kustomize.Build(c.files, kustomize.Default)
}

// modernize replaces deprecated fields, about which kustomize prints warnings. It removes those that no rule reads.
func (c *config) modernize(folder string, fields map[string]any) {
	patches, _ := fields["patches"].([]any)
	strategic, _ := fields["patchesStrategicMerge"].([]any)
	for _, one := range strategic {
		file, _ := one.(string)
		key := "patch"
		if c.files[path.Join(folder, file)] != nil {
			key = "path"
		}
		patches = append(patches, map[string]any{key: file})
	}
	json, _ := fields["patchesJson6902"].([]any)
	resources, _ := fields["resources"].([]any)
	bases, _ := fields["bases"].([]any)
	fields["patches"], fields["resources"] = append(patches, json...), append(resources, bases...)
	for _, name := range []string{"patchesStrategicMerge", "patchesJson6902", "bases", "commonLabels", "imageTags", "vars"} {
		delete(fields, name)
	}
}

// origin returns the file that an object is from, or "" if a generator made it.
func origin(object *unstructured.Unstructured) string {
	var from patchFile
	if err := yaml.Unmarshal([]byte(object.GetAnnotations()["config.kubernetes.io/origin"]), &from); err != nil || from.Path == "" {
		return ""
	}
	return path.Join(kustomize.Default, from.Path)
}
