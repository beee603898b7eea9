package helm

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
)

// Chart is a loaded chart. It is safe for concurrent use.
type Chart struct {
	loaded *chart.Chart
	// hooks and deleteHooks report whether a template may render hooks, and hooks of a deletion.
	hooks, deleteHooks bool
}

// Load loads the chart in a directory, or in an archive made by helm package.
func Load(path string) (*Chart, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if _, err := os.Stat(filepath.Join(path, "Chart.yaml")); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("load the chart %s: the directory has no Chart.yaml: name the directory of a chart, or an archive made by helm package", path)
		}
	}
	loaded, err := loader.Load(path)
	if err != nil {
		return nil, fmt.Errorf("load the chart %s: %w", path, err)
	}
	if err := loaded.Validate(); err != nil {
		return nil, fmt.Errorf("load the chart %s: %w", path, err)
	}
	if missing := missing(loaded); missing != "" {
		return nil, fmt.Errorf("load the chart %s: Chart.yaml requires the chart %s, which is not in its directory charts: add it with helm dependency build", path, missing)
	}
	c := &Chart{loaded: loaded}
	c.findHooks(loaded)
	return c, nil
}

// missing returns the name of a chart that c requires and that does not exist, or "".
func missing(c *chart.Chart) string {
	for _, required := range c.Metadata.Dependencies {
		if !slices.ContainsFunc(c.Dependencies(), func(d *chart.Chart) bool { return d.Name() == required.Name }) {
			return required.Name
		}
	}
	return ""
}

// Name returns the name of the chart.
func (c *Chart) Name() string { return c.loaded.Name() }

// hookAnnotation matches the annotation of a hook that runs, or of a hook whose event is a template.
var hookAnnotation = regexp.MustCompile(`helm\.sh/hook["']?\s*:.*((pre|post)-|\{\{)`)

var deletionHook = regexp.MustCompile(`helm\.sh/hook["']?\s*:.*(pre|post)-delete`)

func (c *Chart) findHooks(in *chart.Chart) {
	for _, file := range in.Templates {
		c.hooks = c.hooks || hookAnnotation.Match(file.Data)
		c.deleteHooks = c.deleteHooks || deletionHook.Match(file.Data)
	}
	for _, dependency := range in.Dependencies() {
		c.findHooks(dependency)
	}
}

// fork returns a copy of the chart for one rendering, which changes it: it removes disabled dependencies and merges
// imported values. Templates and files are shared.
func fork(c *chart.Chart) *chart.Chart {
	copied := *c
	if c.Metadata != nil {
		metadata := *c.Metadata
		metadata.Dependencies = slices.Clone(metadata.Dependencies)
		for i, dependency := range metadata.Dependencies {
			if dependency != nil {
				own := *dependency
				metadata.Dependencies[i] = &own
			}
		}
		copied.Metadata = &metadata
	}
	copied.Values = copyValues(c.Values)
	copied.SetDependencies()
	for _, dependency := range c.Dependencies() {
		copied.AddDependency(fork(dependency))
	}
	return &copied
}

// copyValues returns a deep copy of values as they are read from YAML or JSON.
func copyValues(values map[string]any) map[string]any {
	copied := maps.Clone(values)
	for key, value := range copied {
		copied[key] = copyValue(value)
	}
	return copied
}

func copyValue(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return copyValues(value)
	case common.Values:
		return copyValues(value)
	case []any:
		copied := slices.Clone(value)
		for i, element := range copied {
			copied[i] = copyValue(element)
		}
		return copied
	}
	return value
}
