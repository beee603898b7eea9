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
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
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

// hookAnnotation matches the annotation of a hook, in any notation, and the rest of the line.
var hookAnnotation = regexp.MustCompile(`(?m)helm\.sh/hook(?:[^\w\n-].*|$)`)

// hookEvent matches an event in the rest of the line.
var hookEvent = regexp.MustCompile(`\b(?:pre|post)-(?:install|upgrade|delete|rollback)\b|\btest(?:-success|-failure)?\b`)

// findHooks finds out whether a chart has hooks that run, by the text of its templates and default values. If the event is not there, because a
// template computes it, it can be any.
func (c *Chart) findHooks(in *chart.Chart) {
	files := slices.Clone(in.Templates)
	for _, file := range in.Raw {
		if file.Name == chartutil.ValuesfileName {
			files = append(files, file)
		}
	}
	for _, file := range files {
		for _, line := range hookAnnotation.FindAllString(withoutComments(string(file.Data)), -1) {
			events := hookEvent.FindAllString(line, -1)
			c.hooks = c.hooks || len(events) == 0 || slices.ContainsFunc(events, func(event string) bool { return !strings.HasPrefix(event, "test") })
			c.deleteHooks = c.deleteHooks || len(events) == 0 || slices.ContainsFunc(events, func(event string) bool { return strings.HasSuffix(event, "-delete") })
		}
	}
	for _, dependency := range in.Dependencies() {
		c.findHooks(dependency)
	}
}

// withoutComments returns YAML without its lines that are comments.
func withoutComments(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			kept.WriteString(line)
		}
	}
	return kept.String()
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
