package main

import (
	"context"
	"errors"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/operon-framework/operon"

	v1 "github.com/operon-framework/operon/examples/site/api/v1"
)

// The admission webhooks of a Site. Rules that are expressions are in the API types and in main.go.

// Default sets the title of a site to its host.
func (Site) Default(_ context.Context, s *v1.Site) error {
	if s.Spec.Title == "" {
		s.Spec.Title = s.Spec.Host
	}
	return nil
}

// Validate rejects an invalid host, and paths that a server would never find.
func (Site) Validate(_ context.Context, s *v1.Site, about *operon.Admission[*v1.Site]) field.ErrorList {
	var wrong field.ErrorList
	spec := field.NewPath("spec")
	for _, why := range validation.IsDNS1123Subdomain(s.Spec.Host) {
		wrong = append(wrong, field.Invalid(spec.Child("host"), s.Spec.Host, why))
	}
	for name := range s.Spec.Pages {
		if name != path.Base(name) || strings.HasPrefix(name, ".") {
			wrong = append(wrong, field.Invalid(spec.Child("pages").Key(name), name, "want the name of a file, such as about.html"))
		}
	}
	if s.Spec.Replicas == 1 {
		about.Warn("spec.replicas: one server is none while its node is restarted")
	}
	return wrong
}

// ValidateDeletion rejects the deletion of protected sites.
func (Site) ValidateDeletion(_ context.Context, s *v1.Site, _ *operon.Admission[*v1.Site]) error {
	if s.Spec.Protected {
		return errors.New("it is protected: set spec.protected to false first")
	}
	return nil
}
