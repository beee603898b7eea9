// Package template expands templates of catalogs: olm.template.basic, a catalog whose bundles are named by their images, and olm.semver, lists
// of bundles from which channels and upgrades follow by their versions.
//
//	made, err := template.Expand("till.yaml", template.Options{Bundles: []string{"bundles"}, Image: "registry.example.com/{package}:v{version}"})
package template
