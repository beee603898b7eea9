// Package fbc writes file-based catalogs of a chosen size, which benchmarks use as workloads: packages with a chain of bundles in two channels,
// each bundle with as much metadata as those of public catalogs have.
package fbc

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// PerPackage is the number of bundles in a package, the average of public catalogs.
const PerPackage = 25

// PackageName returns the name of a package by its number.
func PackageName(i int) string { return fmt.Sprintf("operator-%04d", i) }

// BundleName returns the name of a bundle by the number of its package and its own.
func BundleName(of, i int) string { return fmt.Sprintf("%s.v1.%d.0", PackageName(of), i) }

// KindName returns the kind that the bundles of a package provide.
func KindName(of int) string { return fmt.Sprintf("Kind%04d", of) }

// Group is the API group of all kinds.
const Group = "bench.example.com"

// Write writes a catalog into a directory, a file for each package, and returns its size in bytes.
func Write(dir string, packages int) (int64, error) {
	var total int64
	for i := range packages {
		of := filepath.Join(dir, PackageName(i))
		if err := os.MkdirAll(of, 0o755); err != nil {
			return 0, err
		}
		size, err := writePackage(filepath.Join(of, "catalog.json"), i)
		if err != nil {
			return 0, err
		}
		total += size
	}
	return total, nil
}

func writePackage(path string, of int) (size int64, err error) {
	file, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	buffered := bufio.NewWriter(file)
	out := json.NewEncoder(buffered)
	for _, object := range objects(of) {
		if err := out.Encode(object); err != nil {
			return 0, err
		}
	}
	if err := buffered.Flush(); err != nil {
		return 0, err
	}
	info, err := file.Stat()
	return info.Size(), err
}

type object = map[string]any

func objects(of int) []object {
	name := PackageName(of)
	all := []object{{"schema": "olm.package", "name": name, "defaultChannel": "stable", "description": text(of, 500)}}
	for _, channel := range []string{"stable", "candidate"} {
		var entries []object
		for i := range PerPackage {
			entry := object{"name": BundleName(of, i)}
			if i > 0 {
				entry["replaces"] = BundleName(of, i-1)
			}
			entries = append(entries, entry)
		}
		all = append(all, object{"schema": "olm.channel", "package": name, "name": channel, "entries": entries})
	}
	for i := range PerPackage {
		all = append(all, bundle(of, i))
	}
	return all
}

func bundle(of, i int) object {
	name, version := PackageName(of), fmt.Sprintf("1.%d.0", i)
	image := fmt.Sprintf("registry.example.com/%s-bundle@sha256:%064x", name, of*PerPackage+i)
	property := func(kind string, value object) object { return object{"type": kind, "value": value} }
	var owned []object
	for k := range 4 {
		owned = append(owned, object{"name": fmt.Sprintf("kinds%d.%s", k, Group), "kind": KindName(of), "version": "v1", "description": text(of+k, 700)})
	}
	return object{
		"schema": "olm.bundle", "package": name, "name": BundleName(of, i), "image": image,
		"relatedImages": []object{{"name": "", "image": image}, {"name": "manager", "image": strings.Replace(image, "-bundle", "", 1)}},
		"properties": []object{
			property("olm.package", object{"packageName": name, "version": version}),
			property("olm.gvk", object{"group": Group, "version": "v1", "kind": KindName(of)}),
			property("olm.gvk", object{"group": Group, "version": "v1beta1", "kind": KindName(of)}),
			property("olm.csv.metadata", object{
				"annotations": object{"alm-examples": text(i, 9000), "capabilities": "Deep Insights", "categories": "Database"},
				"description": text(of+i, 7000), "displayName": strings.ToUpper(name), "keywords": []string{"one", "two"}, "maturity": "stable",
				"crdDescriptions": object{"owned": owned}, "provider": object{"name": "Example"},
				"installModes": []object{{"type": "AllNamespaces", "supported": true}, {"type": "OwnNamespace", "supported": true}},
			}),
		},
	}
}

// text returns a text of a size in bytes that differs between bundles.
func text(seed, size int) string {
	words := []string{"the", "operator", "installs", "a", "database", "with", "backups", "and", "upgrades", "it", "while", "clients", "are", "connected", "\n"}
	var out strings.Builder
	for i := seed; out.Len() < size; i += 1 + i%7 {
		out.WriteString(words[i%len(words)])
		fmt.Fprintf(&out, " %d ", i%97)
	}
	return out.String()[:size]
}
