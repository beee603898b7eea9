package v1alpha1

import (
	"fmt"
	"maps"

	"sigs.k8s.io/controller-runtime/pkg/conversion"

	v1 "github.com/operon-framework/operon/examples/site/api/v1"
)

// protected is the annotation for a field that this version does not have: a site that a client reads and writes in this
// version stays protected.
const protected = "web.example.com/protected"

// ConvertTo converts a site to v1.
func (s *Site) ConvertTo(hub conversion.Hub) error {
	to, ok := hub.(*v1.Site)
	if !ok {
		return fmt.Errorf("no conversion to %T", hub)
	}
	to.ObjectMeta, to.Status = s.ObjectMeta, s.Status
	to.Spec = v1.SiteSpec{Host: s.Spec.Hostname, Title: s.Spec.Title, Replicas: s.Spec.Servers, Pages: s.Spec.Pages}
	if s.Annotations[protected] == "true" {
		to.Spec.Protected = true
		to.Annotations = maps.Clone(s.Annotations)
		delete(to.Annotations, protected)
	}
	return nil
}

// ConvertFrom converts a site to this version.
func (s *Site) ConvertFrom(hub conversion.Hub) error {
	from, ok := hub.(*v1.Site)
	if !ok {
		return fmt.Errorf("no conversion from %T", hub)
	}
	s.ObjectMeta, s.Status = from.ObjectMeta, from.Status
	s.Spec = SiteSpec{Hostname: from.Spec.Host, Title: from.Spec.Title, Servers: from.Spec.Replicas, Pages: from.Spec.Pages}
	if from.Spec.Protected {
		s.Annotations = maps.Clone(from.Annotations)
		if s.Annotations == nil {
			s.Annotations = map[string]string{}
		}
		s.Annotations[protected] = "true"
	}
	return nil
}
