package content

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

// Required returns the collections that a file requirements.yml names, except those from repositories and files, whose names it does not
// contain.
func Required(file string) ([]string, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var read struct{ Collections []any }
	if err := yaml.Unmarshal(content, &read); err != nil {
		return nil, fmt.Errorf("%s: want a mapping with collections: %w", file, err)
	}
	var names []string
	for i, item := range read.Collections {
		name, _ := item.(string)
		if fields, ok := item.(map[string]any); ok {
			name, _ = fields["name"].(string)
		}
		if strings.Contains(name, "/") {
			continue
		}
		name, _, _ = strings.Cut(name, ":") // NAME:VERSION
		if namespace, rest, ok := strings.Cut(name, "."); !ok || namespace == "" || rest == "" {
			return nil, fmt.Errorf("%s: collections[%d]: want NAMESPACE.NAME or a mapping with such a name, got %v", file, i, item)
		}
		names = append(names, name)
	}
	return names, nil
}
