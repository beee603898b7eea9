package csv

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/contents"
	"github.com/operon-framework/operon/internal/olm/phase"
	"github.com/operon-framework/operon/internal/olm/render"
)

// conversionManager is the field manager of spec.conversion of CustomResourceDefinitions. Plans write the other fields, and do not have it.
const conversionManager = "olm-conversion"

// clientOf returns to which server the API servers send the objects of a kind for conversion, or nil.
func clientOf(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.WebhookClientConfig {
	if crd.Spec.Conversion == nil || crd.Spec.Conversion.Webhook == nil {
		return nil
	}
	return crd.Spec.Conversion.Webhook.ClientConfig
}

// foreignConversion returns which kind of the operator cannot be converted by it: another server converts it, or it keeps unknown fields. A
// conversion that this version wrote is written again if somebody changes it.
func (n *neighbors) foreignConversion(ctx context.Context, out *operon.Composition) (phase.Problem, error) {
	for _, name := range conversionsOf(n.csv) {
		crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
		found, err := out.Get(ctx, crd)
		if err != nil {
			return phase.Problem{}, err
		}
		if !found {
			continue // a requirement
		}
		if crd.Spec.PreserveUnknownFields {
			return phase.Problem{Reason: phase.ReasonInvalidWebhook, Message: fmt.Sprintf(
				"CustomResourceDefinition %s: spec.preserveUnknownFields is true: objects of such kinds cannot be converted", name)}, nil
		}
		to := clientOf(crd)
		if to == nil || slices.Contains(n.csv.Status.Conversions, name) || to.Service != nil && to.Service.Namespace == n.csv.Namespace {
			continue
		}
		return phase.Problem{Reason: phase.ReasonOwnerConflict, Message: fmt.Sprintf(
			"owner conflict: CustomResourceDefinition %s is converted by another server: remove its spec.conversion", name)}, nil
	}
	return phase.Problem{}, nil
}

// conversionsOf returns the names of the kinds that a version converts.
func conversionsOf(csv *v1alpha1.ClusterServiceVersion) []string {
	var names []string
	for _, one := range csv.Spec.WebhookDefinitions {
		if one.Type == v1alpha1.ConversionWebhook {
			names = append(names, one.ConversionCRDs...)
		}
	}
	return names
}

// convert writes the conversions of an operator into the kinds, and removes those that it no longer has, or that the next version drops
// when it takes over. What the next version takes over is left to it.
func (c *Composer) convert(ctx context.Context, csv *v1alpha1.ClusterServiceVersion, p *pass, seen *operon.Observed) error {
	var names []string
	available := p.facts.Unavailable == "" && p.facts.Unapplied.Message == ""
	for _, one := range p.conversions {
		names = append(names, one.CRD)
		if slices.Contains(p.handedKinds, one.CRD) {
			continue
		}
		crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: one.CRD}}
		found, err := seen.Get(ctx, crd)
		if err != nil {
			return err
		}
		switch {
		case !found || waitsToConvert(crd, one, available):
		case !equality.Semantic.DeepEqual(crd.Spec.Conversion, one.Conversion):
			err = apply(ctx, c.client, one.CRD, one.Conversion)
		case available:
			err = store(ctx, c.client, crd, csv.Name)
		}
		if err != nil {
			return err
		}
	}
	for _, name := range csv.Status.Conversions {
		if !slices.Contains(names, name) && !slices.Contains(p.handedKinds, name) {
			if err := stopConverting(ctx, c.client, c.reader, csv, name); err != nil {
				return err
			}
		}
	}
	csv.Status.Conversions = names
	return nil
}

// waitsToConvert reports whether a conversion cannot be written yet: there is no certificate, or another Deployment of the operator converts
// until the new one is available. A kind that nothing converts is not converted wrongly meanwhile: requests fail until the server is available.
func waitsToConvert(crd *apiextensionsv1.CustomResourceDefinition, wanted render.Conversion, available bool) bool {
	to, now := wanted.Conversion.Webhook.ClientConfig, clientOf(crd)
	if len(to.CABundle) == 0 {
		return true
	}
	return !available && now != nil && now.Service != nil && now.Service.Namespace == to.Service.Namespace && now.Service.Name != to.Service.Name
}

// apply writes the conversion of a kind.
func apply(ctx context.Context, writer client.Writer, crd string, conversion *apiextensionsv1.CustomResourceConversion) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(conversion)
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"conversion": content}}}
	object.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	object.SetName(crd)
	err = writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(conversionManager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("write the conversion of CustomResourceDefinition %s: %w", crd, err)
	}
	return nil
}

// store changes the version in which the objects of a kind are stored to that of the bundle. The plan has not, because nothing converted to it.
func store(ctx context.Context, writer client.Writer, crd *apiextensionsv1.CustomResourceDefinition, converter string) error {
	patch, err := contents.StorePatch(crd, converter)
	if err == nil && patch != nil {
		err = writer.Patch(ctx, crd, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(conversionManager))
	}
	if err != nil {
		return fmt.Errorf("change in which version objects of CustomResourceDefinition %s are stored: %w", crd.Name, err)
	}
	return nil
}

// stopConverting ends the conversion of a kind, if it still leads to the namespace of the operator. If the version has not written it, another
// version has.
func stopConverting(ctx context.Context, writer client.Writer, reader client.Reader, csv *v1alpha1.ClusterServiceVersion, name string) error {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := reader.Get(ctx, client.ObjectKey{Name: name}, crd); err != nil {
		return client.IgnoreNotFound(err)
	}
	if to := clientOf(crd); to == nil || to.Service == nil || to.Service.Namespace != csv.Namespace {
		return nil
	}
	written := func(one metav1.ManagedFieldsEntry) bool { return one.Manager == conversionManager }
	if !slices.Contains(csv.Status.Conversions, name) && !slices.ContainsFunc(crd.ManagedFields, written) {
		return nil // it is that of an operator without a ClusterServiceVersion
	}
	return apply(ctx, writer, name, &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter})
}

// endConversions ends the conversion of the kinds whose versions the operator converted, unless the next version converts them, or the version
// before, to which a failed upgrade returns. A version that was held has converted nothing, but may have been left the kinds of the version before.
func endConversions(ctx context.Context, csv *v1alpha1.ClusterServiceVersion, others []v1alpha1.ClusterServiceVersion, out *operon.Finalization) error {
	for _, name := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(csv.Status.Conversions, conversionsOf(csv))))) {
		if slices.ContainsFunc(others, func(other v1alpha1.ClusterServiceVersion) bool { return continues(csv, &other, name) }) {
			continue
		}
		if err := stopConverting(ctx, out.Client(), out.Client(), csv, name); err != nil {
			return err
		}
	}
	return nil
}

// continues reports whether another version converts a kind when one is deleted: it does so now, or belongs to the same operator.
func continues(deleted, other *v1alpha1.ClusterServiceVersion, kind string) bool {
	if other.UID == deleted.UID || other.DeletionTimestamp != nil || other.Status.Phase == v1alpha1.PhaseDeleting {
		return false
	}
	same := other.Spec.Replaces == deleted.Name || other.Name == deleted.Spec.Replaces
	return slices.Contains(other.Status.Conversions, kind) || same && slices.Contains(conversionsOf(other), kind)
}
