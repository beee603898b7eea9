package project

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"sigs.k8s.io/yaml"
)

// chartCRDs reads the CustomResourceDefinitions in the directories crds of the charts that a WatchesFile names, except those that
// the project has itself. Whoever installs the operator installs them, so that the operator needs no permission to do so.
func chartCRDs(root string, own []Object) ([]Object, error) {
	content, err := os.ReadFile(filepath.Join(root, WatchesFile))
	if err != nil {
		return nil, err
	}
	var watches []struct{ Chart string }
	if err := yaml.Unmarshal(content, &watches); err != nil {
		return nil, fmt.Errorf("%s: want a list of entries with group, version and kind: %w", WatchesFile, err)
	}
	var found []Object
	for _, watch := range watches {
		if watch.Chart == "" {
			continue
		}
		objects, err := crdsOfChart(root, watch.Chart)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			same := func(other Object) bool { return other.GetName() == object.GetName() }
			if !slices.ContainsFunc(own, same) && !slices.ContainsFunc(found, same) {
				found = append(found, object)
			}
		}
	}
	return found, nil
}

// crdsOfChart reads those of a chart and of the charts in it.
func crdsOfChart(root, place string) ([]Object, error) {
	from := place
	if !filepath.IsAbs(from) {
		from = filepath.Join(root, from)
	}
	chart, err := loader.Load(from)
	if err != nil {
		return nil, fmt.Errorf("%s: load the chart %s: %w", WatchesFile, place, err)
	}
	var found []Object
	for _, file := range chart.CRDObjects() {
		name := path.Join(filepath.ToSlash(place), strings.TrimPrefix(filepath.ToSlash(file.Filename), chart.Name()+"/"))
		objects, err := Parse(name, file.File.Data)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			if object.GetKind() != "CustomResourceDefinition" {
				return nil, fmt.Errorf("%s: a %s; the directory crds of a chart is for CustomResourceDefinitions", object.Place(), object.GetKind())
			}
		}
		found = append(found, objects...)
	}
	return found, nil
}
