package main

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

// upgrades checks that the next version takes everything over as it is.
func (h *hooks) upgrades(first *v1alpha1.ClusterServiceVersion) {
	h.Helper()
	before := append(h.registered(h.Context()), h.secret())
	h.Add(h.version(version("0.0.2", "0.0.1")))
	h.AwaitPhase("memcached-operator.v0.0.2", v1alpha1.PhaseSucceeded, "")
	h.AwaitGone(first)
	after := append(h.registered(h.Context()), h.secret())
	if len(after) != len(before) || len(after) != 6 {
		h.Errorf("there were %d objects and are %d", len(before), len(after))
	}
	for _, object := range before {
		if _, is := object.(*rbacv1.ClusterRoleBinding); is {
			continue // each version has its own permissions
		}
		if _, is := object.(*rbacv1.RoleBinding); !is && !slices.ContainsFunc(after, func(now client.Object) bool { return now.GetUID() == object.GetUID() }) {
			h.Errorf("%T %s was created again", object, object.GetName())
		}
	}
	h.Must(h.converted(h.Context()))
}

// uninstalls checks that nothing is left but the kind and its objects.
func (h *hooks) uninstalls(name string) {
	h.Helper()
	h.quiet()
	last := &v1alpha1.ClusterServiceVersion{ObjectMeta: h.Named(name)}
	h.Must(h.Get(h.Context(), client.ObjectKeyFromObject(last), last))
	before := last.DeepCopy()
	h.Must(h.Delete(h.Context(), last))
	h.AwaitGone(last)
	h.AwaitGone(&corev1.Secret{ObjectMeta: h.Named(serviceName + "-cert")})
	h.AwaitGone(&corev1.Service{ObjectMeta: h.Named(serviceName)})
	for _, object := range h.registered(h.Context()) {
		h.Errorf("%T %s is left", object, object.GetName())
	}
	if by := h.crd().Spec.Conversion; by.Strategy != apiextensionsv1.NoneConverter {
		h.Errorf("the conversion is %s, and was that of %v, with the finalizers %v", by.Strategy, before.Status.Conversions, before.Finalizers)
	}
	h.Must(h.Delete(h.Context(), h.memcached("v1alpha1", "good")))
}

// abandons checks that a version that never ran does not leave the conversion of the version before behind.
func (h *hooks) abandons() {
	h.Helper()
	h.Add(h.version(memcached))
	h.redirect()
	h.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	next := h.version(strings.Replace(version("0.0.2", "0.0.1"), "    owned:\n", "    required: [{name: others.$GROUP, version: v1, kind: Other}]\n    owned:\n", 1))
	h.Add(next)
	h.AwaitPhase(next.Name, v1alpha1.PhasePending, "RequirementsNotMet")
	for _, deleted := range []struct {
		name string
		want apiextensionsv1.ConversionStrategyType
	}{{first, apiextensionsv1.WebhookConverter}, {next.Name, apiextensionsv1.NoneConverter}} {
		csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: h.Named(deleted.name)}
		h.Must(h.Delete(h.Context(), csv))
		h.AwaitGone(csv)
		if by := h.crd().Spec.Conversion.Strategy; by != deleted.want {
			h.Errorf("without %s, the conversion is %s, want %s", deleted.name, by, deleted.want)
		}
	}
}

// refuses checks that operators do not take over an API or a conversion that something else serves.
func (h *hooks) refuses() {
	h.Helper()
	h.Must(h.Patch(h.Context(), h.crd(), client.RawPatch("application/merge-patch+json", []byte(
		`{"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"https://198.18.0.1/convert"}}}}}`))))
	served := strings.ReplaceAll(memcached, "memcached-operator.v0.0.1", "served")
	other := h.version(served)
	other.Spec.APIServiceDefinitions.Owned[0].Group, other.Spec.APIServiceDefinitions.Owned[0].Version = h.group, "v1alpha1"
	h.Add(h.version(memcached), other)
	for name, want := range map[string]string{
		"memcached-operator.v0.0.1": "CustomResourceDefinition memcacheds." + h.group + " is converted by another server",
		"served":                    "APIService v1alpha1." + h.group + " exists and was not made for an operator of this namespace",
	} {
		if refused := h.AwaitPhase(name, v1alpha1.PhaseFailed, "OwnerConflict"); !strings.Contains(refused.Status.Message, want) {
			h.Errorf("%s: the message is %q, want %q", name, refused.Status.Message, want)
		}
	}
	if by := h.crd().Spec.Conversion.Webhook; by == nil || by.ClientConfig.URL == nil {
		h.Errorf("the conversion is %+v", by)
	}
}
