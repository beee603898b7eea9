package main

import (
	"context"
	"errors"
	"slices"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/ship/bundle/images"
	"github.com/operon-framework/operon/internal/ship/catalog"
	"github.com/operon-framework/operon/internal/ship/catalog/template"
)

// rendered returns the catalog of bundles in directories and images, or that of a template with the bundles that it can name.
func rendered(ctx context.Context, args []string, image string) (_ *catalog.Catalog, err error) {
	reader := &images.Reader{}
	defer func() { err = errors.Join(err, reader.Close()) }()
	i := slices.IndexFunc(args, template.IsTemplate)
	if i < 0 {
		dirs, read, err := reader.Split(ctx, args)
		if err != nil {
			return nil, err
		}
		return catalog.Render(dirs, image, read...)
	}
	dirs := slices.Delete(slices.Clone(args), i, i+1)
	if slices.ContainsFunc(dirs, template.IsTemplate) {
		return nil, usageError{errors.New("want one template at a time")}
	}
	return template.Expand(args[i], template.Options{Bundles: dirs, Image: image, Read: func(image string) (*bundle.Bundle, bool, error) {
		if !images.Is(image) {
			return nil, false, nil
		}
		one, err := reader.Read(ctx, image)
		return one, true, err
	}})
}
