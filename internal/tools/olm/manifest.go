package olm

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/core/names"
)

// maxManifest is the largest manifest of a step, in bytes. Objects of a cluster are smaller.
const maxManifest = 8 << 20

// Object returns the object of a step, or nil if the plan does not contain it.
func (s *Step) Object() (*unstructured.Unstructured, error) {
	content := []byte(s.Resource.Manifest)
	if len(s.Resource.Compressed) > 0 {
		reader, err := gzip.NewReader(bytes.NewReader(s.Resource.Compressed))
		if err != nil {
			return nil, s.broken(err)
		}
		if content, err = io.ReadAll(io.LimitReader(reader, maxManifest+1)); err != nil {
			return nil, s.broken(err)
		}
	}
	if len(content) == 0 {
		return nil, nil
	}
	if len(content) > maxManifest {
		return nil, s.broken(fmt.Errorf("it has more than %d bytes", maxManifest))
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(content, object); err != nil {
		return nil, s.broken(err)
	}
	if object.GetKind() != s.Resource.Kind || object.GetName() != s.Resource.Name {
		return nil, s.broken(fmt.Errorf("it is %s %s", object.GetKind(), object.GetName()))
	}
	return object, nil
}

func (s *Step) broken(err error) error {
	return fmt.Errorf("the manifest of %s %s: %w", s.Resource.Kind, s.Resource.Name, err)
}

// Before returns the version that a plan replaces, or nil if it installs a first one.
func (s *State) Before(plan *InstallPlan) *Version {
	for _, lookup := range plan.Status.BundleLookups {
		if found := s.version(plan.Namespace, lookup.Replaces); found != nil {
			return found
		}
	}
	return nil
}

// Replaced returns the version that another one replaces, or nil if it does not exist any more.
func (s *State) Replaced(by *Version) *Version { return s.version(by.Namespace, by.Spec.Replaces) }

// Everywhere reports whether operators of a namespace work in all namespaces.
func (s *State) Everywhere(namespace string) bool {
	group := s.group(namespace)
	return group != nil && group.all()
}

// IsOwned reports whether the labels of an object, with names of up to 63 characters, say that a lifecycle manager made it for a version of a namespace.
func IsOwned(labels map[string]string, namespace string, versions ...string) bool {
	return labels["olm.owner.kind"] == kindVersion && labels["olm.owner.namespace"] == namespace && slices.ContainsFunc(versions, func(one string) bool {
		return one != "" && names.Join(63, one) == labels["olm.owner"]
	})
}
