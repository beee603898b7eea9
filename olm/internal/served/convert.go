package served

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc"

	"github.com/operon-framework/operon/internal/ship/catalog/registry"
)

// entry is a bundle in a channel.
type entry struct {
	Name      string   `json:"name"`
	Replaces  string   `json:"replaces,omitempty"`
	Skips     []string `json:"skips,omitempty"`
	SkipRange string   `json:"skipRange,omitempty"`
}

// property is a fact about a bundle.
type property struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// Schemas, and types of properties.
const (
	schemaPackage      = "olm.package"
	schemaChannel      = "olm.channel"
	schemaBundle       = "olm.bundle"
	schemaDeprecations = "olm.deprecations"

	propertyPackage         = "olm.package"
	propertyKind            = "olm.gvk"
	propertyRequiredPackage = "olm.package.required"
	propertyRequiredKind    = "olm.gvk.required"
	propertyLabel           = "olm.label"
	propertyRequiredLabel   = "olm.label.required"
	propertyObject          = "olm.bundle.object"
)

// listBundles writes the bundles. A server returns each of them once for each of its channels.
func (r *reading) listBundles(ctx context.Context) error {
	return each(ctx, r, "ListBundles", func(ctx context.Context) (grpc.ServerStreamingClient[registry.Bundle], error) {
		return r.client.ListBundles(ctx, &registry.ListBundlesRequest{})
	}, func(one *registry.Bundle) error {
		channel := [2]string{one.GetPackageName(), one.GetChannelName()}
		r.channels[channel] = append(r.channels[channel], entry{one.GetCsvName(), one.GetReplaces(), one.GetSkips(), one.GetSkipRange()})
		key := [2]string{one.GetPackageName(), one.GetCsvName()}
		if r.bundles[key] {
			return nil
		}
		r.bundles[key] = true
		if message := one.GetDeprecation().GetMessage(); message != "" {
			r.deprecated[key] = message
		}
		return r.bundle(ctx, one)
	})
}

func (r *reading) bundle(ctx context.Context, one *registry.Bundle) error {
	properties := propertiesOf(one)
	if one.GetBundlePath() == "" { // the server has the objects
		whole, err := once(ctx, "GetBundle", func(ctx context.Context) (*registry.Bundle, error) {
			return r.client.GetBundle(ctx, &registry.GetBundleRequest{PkgName: one.GetPackageName(), ChannelName: one.GetChannelName(), CsvName: one.GetCsvName()})
		})
		if err != nil {
			return err
		}
		properties = append(properties, objectsOf(whole)...)
	}
	return r.out.write(map[string]any{
		"schema": schemaBundle, "package": one.GetPackageName(), "name": one.GetCsvName(), "image": one.GetBundlePath(), "properties": properties,
	})
}

// objectsOf returns the manifests of a bundle as properties.
func objectsOf(of *registry.Bundle) []property {
	manifests := of.GetObject()
	if csv := of.GetCsvJson(); csv != "" && !slices.ContainsFunc(manifests, isCSV) {
		manifests = append([]string{csv}, manifests...)
	}
	var made []property
	for _, one := range manifests {
		made = append(made, property{propertyObject, encoded(map[string]string{"data": base64.StdEncoding.EncodeToString([]byte(one))})})
	}
	return made
}

func isCSV(manifest string) bool {
	var object struct{ Kind string }
	return json.Unmarshal([]byte(manifest), &object) == nil && object.Kind == "ClusterServiceVersion"
}

// propertiesOf returns the properties of a bundle. Servers of older catalogs have some of them only in fields of their own.
func propertiesOf(of *registry.Bundle) []property {
	var made []property
	has := map[string]bool{}
	add := func(kind string, value json.RawMessage) {
		if key := kind + "\x00" + normal(value); !has[key] {
			has[key] = true
			has[kind] = true
			made = append(made, property{kind, value})
		}
	}
	for _, one := range of.GetProperties() {
		add(one.GetType(), raw(one.GetValue()))
	}
	if !has[propertyPackage] && of.GetVersion() != "" {
		add(propertyPackage, encoded(map[string]string{"packageName": of.GetPackageName(), "version": of.GetVersion()}))
	}
	for _, one := range of.GetProvidedApis() {
		add(propertyKind, kindOf(one))
	}
	for _, one := range of.GetRequiredApis() {
		add(propertyRequiredKind, kindOf(one))
	}
	for _, one := range of.GetDependencies() {
		add(required(one.GetType(), raw(one.GetValue())))
	}
	return made
}

// required returns a dependency as a property. The range of a package has another name there.
func required(kind string, value json.RawMessage) (string, json.RawMessage) {
	switch kind {
	case propertyKind:
		return propertyRequiredKind, value
	case propertyLabel:
		return propertyRequiredLabel, value
	case propertyPackage:
		var of struct{ PackageName, Version string }
		if json.Unmarshal(value, &of) != nil {
			return propertyRequiredPackage, value // whoever reads it reports the mistake
		}
		return propertyRequiredPackage, encoded(map[string]string{"packageName": of.PackageName, "versionRange": of.Version})
	}
	return kind, value
}

func kindOf(one *registry.GroupVersionKind) json.RawMessage {
	return encoded(map[string]string{"group": one.GetGroup(), "version": one.GetVersion(), "kind": one.GetKind()})
}

// raw returns a value as JSON. One that is not is a string.
func raw(value string) json.RawMessage {
	if json.Valid([]byte(value)) {
		return json.RawMessage(value)
	}
	return encoded(value)
}

// normal returns a value in one form, with sorted keys.
func normal(value json.RawMessage) string {
	var decoded any
	if err := json.Unmarshal(value, &decoded); err != nil {
		return string(value)
	}
	if fields, is := decoded.(map[string]any); is {
		delete(fields, "plural") // only some servers tell it
	}
	return string(encoded(decoded))
}

func encoded(value any) json.RawMessage {
	content, err := json.Marshal(value)
	if err != nil {
		panic(err) // it consists of strings, lists and maps
	}
	return content
}

// onePackage writes a package, its channels and its deprecations. Its bundles were written before.
func (r *reading) onePackage(ctx context.Context, name string) error {
	of, err := once(ctx, "GetPackage "+name, func(ctx context.Context) (*registry.Package, error) {
		return r.client.GetPackage(ctx, &registry.GetPackageRequest{Name: name})
	})
	if err != nil || of == nil {
		return err
	}
	if err := r.out.write(map[string]any{"schema": schemaPackage, "name": name, "defaultChannel": of.GetDefaultChannelName()}); err != nil {
		return err
	}
	for _, channel := range of.GetChannels() {
		entries := r.channels[[2]string{name, channel.GetName()}]
		slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.Name, b.Name) }) // the order has no meaning
		if err := r.out.write(map[string]any{"schema": schemaChannel, "package": name, "name": channel.GetName(), "entries": entries}); err != nil {
			return err
		}
	}
	deprecations := r.deprecations(of)
	if len(deprecations) == 0 {
		return nil
	}
	return r.out.write(map[string]any{"schema": schemaDeprecations, "package": name, "entries": deprecations})
}

func (r *reading) deprecations(of *registry.Package) []any {
	var made []any
	add := func(schema, name, message string) {
		if message == "" {
			return
		}
		reference := map[string]any{"schema": schema}
		if name != "" {
			reference["name"] = name
		}
		made = append(made, map[string]any{"reference": reference, "message": message})
	}
	add(schemaPackage, "", of.GetDeprecation().GetMessage())
	for _, channel := range of.GetChannels() {
		add(schemaChannel, channel.GetName(), channel.GetDeprecation().GetMessage())
	}
	for _, key := range slices.SortedFunc(maps.Keys(r.deprecated), func(a, b [2]string) int { return strings.Compare(a[1], b[1]) }) {
		if key[0] == of.GetName() {
			add(schemaBundle, key[1], r.deprecated[key])
		}
	}
	return made
}
