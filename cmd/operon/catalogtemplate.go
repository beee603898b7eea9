package main

import (
	"errors"
	"slices"

	"github.com/operon-framework/operon/internal/ship/catalog"
	"github.com/operon-framework/operon/internal/ship/catalog/template"
)

// rendered returns the catalog of bundles, or that of a template with the bundles that it can name.
func rendered(args []string, image string) (*catalog.Catalog, error) {
	i := slices.IndexFunc(args, template.IsTemplate)
	if i < 0 {
		return catalog.Render(args, image)
	}
	dirs := slices.Delete(slices.Clone(args), i, i+1)
	if slices.ContainsFunc(dirs, template.IsTemplate) {
		return nil, usageError{errors.New("want one template at a time")}
	}
	return template.Expand(args[i], template.Options{Bundles: dirs, Image: image})
}
