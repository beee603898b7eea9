// Package v1 has the webhooks for Sites.
package v1

import (
	"context"
	"errors"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	webv1 "example.com/web/api/v1"
)

// SetupSiteWebhookWithManager registers them.
func SetupSiteWebhookWithManager(manager ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(manager, &webv1.Site{}).WithDefaulter(siteDefaulter{}).WithValidator(siteValidator{}).Complete()
}

// +kubebuilder:webhook:path=/mutate-web-layout-test-v1-site,mutating=true,failurePolicy=fail,sideEffects=None,groups=web.layout.test,resources=sites,verbs=create;update,versions=v1,name=msite-v1.kb.io,admissionReviewVersions=v1

type siteDefaulter struct{}

// Default sets the number of pages.
func (siteDefaulter) Default(_ context.Context, site *webv1.Site) error {
	if one := int32(1); site.Spec.Pages == nil {
		site.Spec.Pages = &one
	}
	return nil
}

// +kubebuilder:webhook:path=/validate-web-layout-test-v1-site,mutating=false,failurePolicy=fail,sideEffects=None,groups=web.layout.test,resources=sites,verbs=create;update,versions=v1,name=vsite-v1.kb.io,admissionReviewVersions=v1

type siteValidator struct{}

// ValidateCreate refuses a title that is taken.
func (siteValidator) ValidateCreate(_ context.Context, site *webv1.Site) (admission.Warnings, error) {
	if site.Spec.Title == "taken" {
		return nil, errors.New("that title is taken")
	}
	return nil, nil
}

// ValidateUpdate refuses a title that is taken.
func (v siteValidator) ValidateUpdate(ctx context.Context, _, site *webv1.Site) (admission.Warnings, error) {
	return v.ValidateCreate(ctx, site)
}

// ValidateDelete refuses nothing.
func (siteValidator) ValidateDelete(context.Context, *webv1.Site) (admission.Warnings, error) {
	return nil, nil
}
