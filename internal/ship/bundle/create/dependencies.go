package create

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/ship/bundle"
)

// inherited returns the files with dependencies and properties that the bundle has from an older one or from the options, by their paths.
func (m *maker) inherited() (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range []string{bundle.DependenciesFile, bundle.PropertiesFile} {
		content, err := m.older(name)
		if err != nil {
			return nil, err
		}
		if content != nil {
			files[name] = content
		}
	}
	if len(m.options.Requires) == 0 {
		return files, nil
	}
	content, err := addDependencies(files[bundle.DependenciesFile], m.options.Requires)
	if err != nil {
		return nil, err
	}
	files[bundle.DependenciesFile] = content
	return files, nil
}

// older returns a file of the bundle in the directory, or else of the previous bundle, or nil.
func (m *maker) older(name string) ([]byte, error) {
	var dirs []string
	if m.existing != nil {
		dirs = append(dirs, m.existing.Dir)
	}
	if m.previous != nil && m.previous.Registry() {
		dirs = append(dirs, m.previous.Dir)
	}
	for _, dir := range dirs {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		content, err := root.ReadFile(name)
		root.Close()
		if err == nil {
			return content, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w: want a file, not a link that leads out of the bundle", dir, err)
		}
	}
	return nil, nil
}

// addDependencies adds dependencies on packages, in the form PACKAGE=RANGE, to the content of a file. One on the same package is replaced.
func addDependencies(content []byte, requires []string) ([]byte, error) {
	file := map[string]any{}
	if err := yaml.Unmarshal(content, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", bundle.DependenciesFile, err)
	}
	list, isList := file["dependencies"].([]any)
	if file["dependencies"] != nil && !isList {
		return nil, fmt.Errorf("%s: dependencies is not a list", bundle.DependenciesFile)
	}
	for _, one := range requires {
		pkg, versions, err := parseRequirement(one)
		if err != nil {
			return nil, err
		}
		wanted := map[string]any{"type": bundle.PackageDependency, "value": map[string]any{"packageName": pkg, "version": versions}}
		i := slices.IndexFunc(list, func(other any) bool { return names(other, pkg) })
		if i < 0 {
			list = append(list, wanted)
			continue
		}
		list[i] = wanted
	}
	file["dependencies"] = list
	return yaml.Marshal(file)
}

// parseRequirement parses a dependency in the form PACKAGE=RANGE.
func parseRequirement(text string) (pkg, versions string, err error) {
	pkg, versions, _ = strings.Cut(text, "=")
	_, err = semver.ParseRange(versions)
	if err != nil || len(validation.IsDNS1123Subdomain(pkg)) > 0 {
		return "", "", fmt.Errorf("--requires %q: want PACKAGE=RANGE, with versions of three numbers, such as \"cert-manager=>=1.12.0 <2.0.0\"", text)
	}
	return pkg, versions, nil
}

// names reports whether a dependency is one on a package.
func names(dependency any, pkg string) bool {
	fields, _ := dependency.(map[string]any)
	value, _ := fields["value"].(map[string]any)
	return fields["type"] == bundle.PackageDependency && value["packageName"] == pkg
}
