// Package configmap reads catalogs in ConfigMaps and writes them as file-based catalogs. A ConfigMap has a compressed file-based catalog, or
// lists, the oldest form of catalogs of the Operator Lifecycle Manager.
//
// The content is untrusted. Its size is bounded by that of a ConfigMap, 1 MiB, and that of what is compressed by maxCatalog.
package configmap

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/core/yamlsafe"
	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/ship/catalog"
)

// The keys of the data, each with a list in YAML.
const (
	keyPackages    = "packages"
	keyVersions    = "clusterServiceVersions"
	keyDefinitions = "customResourceDefinitions"
)

// KeyCatalog is the key in the binary data of a file-based catalog in JSON, compressed with gzip.
const KeyCatalog = "catalog.json.gz"

// maxCatalog is the largest file-based catalog in a ConfigMap, in bytes after decompression.
const maxCatalog = 64 << 20

// Write writes the catalog in a ConfigMap into a directory, and returns a digest of it. The error names the key and the entry that is not
// valid. A package with mistakes, such as a channel whose version is missing, is written as it is: whoever reads the catalog finds them.
func Write(from *corev1.ConfigMap, into string) (digest string, err error) {
	file, err := os.OpenFile(filepath.Join(into, "catalog.json"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if packed, ok := from.BinaryData[KeyCatalog]; ok {
		return unpack(packed, file)
	}
	c := &content{data: from.Data}
	if err := c.read(); err != nil {
		return "", err
	}
	for _, one := range c.packages {
		if err := c.write(one, file); err != nil {
			return "", err
		}
	}
	return digestOf(from.Data), nil
}

// unpack writes a file-based catalog.
func unpack(packed []byte, out io.Writer) (digest string, err error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", fmt.Errorf("binaryData[%s]: %w", KeyCatalog, err)
	}
	count, err := io.Copy(out, io.LimitReader(unpacked, maxCatalog+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("binaryData[%s]: %w", KeyCatalog, err)
	case count > maxCatalog:
		return "", fmt.Errorf("binaryData[%s]: it has more than %d MiB", KeyCatalog, maxCatalog>>20)
	}
	sum := sha256.Sum256(packed)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

func digestOf(data map[string]string) string {
	whole := sha256.New()
	for _, key := range []string{keyPackages, keyVersions, keyDefinitions} {
		fmt.Fprintf(whole, "%s %d\n%s", key, len(data[key]), data[key])
	}
	return "sha256:" + hex.EncodeToString(whole.Sum(nil))
}

// content is the catalog in a ConfigMap.
type content struct {
	data                  map[string]string
	packages              []packageOf
	versions, definitions map[string]*unstructured.Unstructured // by name
}

// packageOf is the description of a package.
type packageOf struct {
	PackageName    string
	DefaultChannel string
	Channels       []struct{ Name, CurrentCSV string }
}

func (c *content) read() (err error) {
	if strings.TrimSpace(c.data[keyPackages]) == "" {
		return fmt.Errorf("data.%s is missing or empty: want a list of packages", keyPackages)
	}
	if err := yaml.Unmarshal([]byte(c.data[keyPackages]), &c.packages); err != nil {
		return fmt.Errorf("data.%s: %w", keyPackages, err)
	}
	for i, one := range c.packages {
		if one.PackageName == "" {
			return fmt.Errorf("data.%s[%d].packageName is missing", keyPackages, i)
		}
	}
	if c.versions, err = c.objects(keyVersions, "ClusterServiceVersion"); err != nil {
		return err
	}
	c.definitions, err = c.objects(keyDefinitions, "CustomResourceDefinition")
	return err
}

// objects reads a list of objects of a kind.
func (c *content) objects(key, kind string) (map[string]*unstructured.Unstructured, error) {
	var list []map[string]any
	if err := yaml.Unmarshal([]byte(c.data[key]), &list); err != nil {
		return nil, fmt.Errorf("data.%s: %w", key, err)
	}
	all := map[string]*unstructured.Unstructured{}
	for i, fields := range list {
		one := &unstructured.Unstructured{Object: fields}
		switch {
		case one.GetKind() != kind || one.GetName() == "":
			return nil, fmt.Errorf("data.%s[%d]: it is %s %q, want a %s with a name", key, i, one.GetKind(), one.GetName(), kind)
		case all[one.GetName()] != nil:
			return nil, fmt.Errorf("data.%s[%d]: %s is in the list twice", key, i, one.GetName())
		}
		all[one.GetName()] = one
	}
	return all, nil
}

// write writes a package with the versions in its channels.
func (c *content) write(of packageOf, out io.Writer) error {
	first := of.DefaultChannel
	if first == "" && len(of.Channels) == 1 {
		first = of.Channels[0].Name
	}
	found := map[string]*bundle.Bundle{}
	missing := []*catalog.Channel{}
	for _, channel := range of.Channels {
		chain, err := c.chain(channel.CurrentCSV, found)
		if err != nil {
			return err
		}
		for _, one := range chain {
			one.Package, one.Channels = of.PackageName, append(one.Channels, channel.Name)
		}
		if len(chain) == 0 { // whoever reads the catalog reports it
			missing = append(missing, &catalog.Channel{Package: of.PackageName, Name: channel.Name, Entries: []catalog.Entry{{Name: channel.CurrentCSV}}})
		}
	}
	made, err := catalog.Of(slices.Collect(maps.Values(found)), "")
	if err != nil {
		return err
	}
	whole := &catalog.Package{Name: of.PackageName, DefaultChannel: first}
	if len(made.Packages) > 0 {
		whole = made.Packages[0]
	}
	whole.DefaultChannel = first
	whole.Channels = append(whole.Channels, missing...)
	return whole.Write(out, "json")
}

// chain returns the versions of a channel, from its head along what they replace. read are those that were read before.
func (c *content) chain(head string, read map[string]*bundle.Bundle) (all []*bundle.Bundle, err error) {
	for name := head; c.versions[name] != nil; {
		one := read[name]
		if slices.Contains(all, one) {
			return all, nil // whoever reads the catalog reports the circle
		}
		if one == nil {
			if one, err = c.bundle(name); err != nil {
				return nil, err
			}
			read[name] = one
		}
		all = append(all, one)
		name = one.CSV.Spec.Replaces
	}
	return all, nil
}

// bundle returns a version with the definitions that it owns.
func (c *content) bundle(name string) (_ *bundle.Bundle, err error) {
	dir, err := os.MkdirTemp("", "configmap-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	objects := []*unstructured.Unstructured{c.versions[name]}
	owned, _, err := unstructured.NestedSlice(c.versions[name].Object, "spec", "customresourcedefinitions", "owned")
	if err != nil {
		return nil, fmt.Errorf("data.%s: %s: %w", keyVersions, name, err)
	}
	for _, one := range owned {
		fields, _ := one.(map[string]any)
		if of, _ := fields["name"].(string); c.definitions[of] != nil && !slices.Contains(objects, c.definitions[of]) {
			objects = append(objects, c.definitions[of])
		}
	}
	for i, object := range objects {
		text, err := object.MarshalJSON()
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d.yaml", i)), yamlsafe.Manifest(text), 0o600); err != nil {
			return nil, err
		}
	}
	read, err := bundle.Read(dir)
	if err != nil {
		return nil, fmt.Errorf("data.%s: %s: %w", keyVersions, name, err)
	}
	if len(read.Problems) > 0 {
		return nil, fmt.Errorf("data.%s: %s: %s", keyVersions, name, read.Problems[0].Message)
	}
	read.Dir = fmt.Sprintf("data.%s: %s", keyVersions, name) // for errors
	return read, nil
}
