package packages

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/operon-framework/operon/internal/core/yamlsafe"
	"github.com/operon-framework/operon/internal/ship/catalog"

	v1 "github.com/operon-framework/operon/internal/olm/api/packages/v1"
)

// Types of properties with the description of a version: the shown part of its ClusterServiceVersion, or an object, which may be the whole one.
const (
	metadataProperty = "olm.csv.metadata"
	objectProperty   = "olm.bundle.object"
)

// head is the newest version of a channel.
type head struct {
	v1.CSVDescription
	labels map[string]string
}

// headOf describes a version: from the property for that, or else from its ClusterServiceVersion if the catalog contains it. icon is that of
// the package.
func headOf(p *catalog.Package, b *catalog.Bundle, icon []v1.Icon) (*head, error) {
	made := &head{}
	for i, property := range b.Properties {
		read := (*head).readMetadata
		switch property.Type {
		case metadataProperty:
		case objectProperty:
			read = (*head).readObject
		default:
			continue
		}
		if err := read(made, property.Value); err != nil {
			return nil, fmt.Errorf("properties[%d]: %w", i, err)
		}
	}
	made.Version = b.Version()
	if made.Description == "" {
		made.Description = p.Description
	}
	if len(made.Icon) == 0 {
		made.Icon = icon
	}
	made.RelatedImages = nil
	for _, image := range b.RelatedImages {
		made.RelatedImages = append(made.RelatedImages, image.Image)
	}
	return made, nil
}

// readMetadata reads the shown part of a ClusterServiceVersion, whose fields partly have other names.
func (h *head) readMetadata(value json.RawMessage) error {
	var more struct {
		Labels                map[string]string     `json:"labels"`
		CRDDescriptions       *runtime.RawExtension `json:"crdDescriptions"`
		APIServiceDefinitions *runtime.RawExtension `json:"apiServiceDefinitions"`
	}
	if err := json.Unmarshal(value, &more); err != nil {
		return err
	}
	if err := json.Unmarshal(value, &h.CSVDescription); err != nil { // encoding/json ignores the case of nativeAPIs
		return err
	}
	h.labels = more.Labels
	h.CustomResourceDefinitions, h.APIServiceDefinitions = more.CRDDescriptions, more.APIServiceDefinitions
	return nil
}

// readObject reads a ClusterServiceVersion, and ignores other objects.
func (h *head) readObject(value json.RawMessage) error {
	var manifest struct{ Data []byte }
	if err := json.Unmarshal(value, &manifest); err != nil {
		return err
	}
	content := yamlsafe.Manifest(manifest.Data)
	var kind struct{ Kind string }
	if err := yaml.Unmarshal(content, &kind); err != nil || kind.Kind != "ClusterServiceVersion" {
		return err
	}
	var object struct {
		Metadata struct{ Labels, Annotations map[string]string }
		Spec     struct {
			v1.CSVDescription
			RelatedImages []catalog.Image `json:"relatedImages"` // of another form than in a PackageManifest
		}
	}
	if err := yaml.Unmarshal(content, &object); err != nil {
		return err
	}
	h.CSVDescription, h.labels = object.Spec.CSVDescription, object.Metadata.Labels
	h.Annotations = object.Metadata.Annotations
	return nil
}
