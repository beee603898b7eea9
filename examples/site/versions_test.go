package main

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/local/localtest"
	"github.com/operon-framework/operon/operontest"

	v1 "github.com/operon-framework/operon/examples/site/api/v1"
	"github.com/operon-framework/operon/examples/site/api/v1alpha1"
)

// conversions are the conversions between the two versions of Site.
var conversions = operontest.Conversion(&v1.Site{}, &v1alpha1.Site{}).CRDs("config/crd")

// Clients that read and write sites in the older version lose no data of them, and vice versa.
func TestConversion(t *testing.T) {
	t.Parallel()
	conversions.RoundTrip(t)
}

func FuzzConversion(f *testing.F) { conversions.Fuzz(f) }

// siteOf1 contains the parts of version 1.0 of the operator that matter here.
type siteOf1 struct{}

func (siteOf1) Compose(_ context.Context, s *v1alpha1.Site, out *operon.Composition) error {
	out.Child(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: s.Name},
		Data:       map[string]string{frontPage: "<h1>" + s.Spec.Hostname + "</h1>"},
	})
	return nil
}

// A cluster with version 1.0 is upgraded to 2.0: its sites can be read in both versions and are stored in the new one, and the
// pages that users added manually to a ConfigMap are in the spec. The test is not parallel, because the other tests use the
// same CRD.
func TestFromVersion1(t *testing.T) {
	env := localtest.Shared(t)
	env.InstallCRDs(t, "testdata/1.0/crd.yaml")
	c, stop := start(t, env, operon.Version("1.0.0"), operon.API(v1alpha1.AddToScheme), operon.Manage(siteOf1{}))
	old := &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: "old"}}
	old.Spec = v1alpha1.SiteSpec{Hostname: "old.example.com", Servers: 3}
	if err := c.Create(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	is(t, c, old, "its version to be recorded", func() bool { return recorded(old.Status, "1.0.0") })
	pages := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: "old"}}
	byHand := client.RawPatch(types.MergePatchType, []byte(`{"data":{"robots.txt":"User-agent: *"}}`))
	if err := c.Patch(t.Context(), pages, byHand); err != nil {
		t.Fatal(err)
	}
	stop()

	env.InstallCRDs(t, "config/crd")
	c, _ = start(t, env, parts()...)
	s := &v1.Site{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: "old"}}
	is(t, c, s, "it to be upgraded", func() bool {
		return recorded(s.Status, version) && s.Spec.Host == "old.example.com" && s.Spec.Replicas == 3 && s.Spec.Pages["robots.txt"] == "User-agent: *"
	})
	protect := func(is bool) {
		t.Helper()
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"protected":%t}}`, is))
		if err := answered(t, func(ctx context.Context) error { return c.Patch(ctx, s, patch) }); err != nil {
			t.Fatal(err)
		}
	}
	protect(true)
	is(t, c, old, "the older version to be served", func() bool {
		return old.Spec.Hostname == "old.example.com" && old.Spec.Servers == 3 && old.Annotations["web.example.com/protected"] == "true"
	})
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "sites.web.example.com"}}
	is(t, c, definition, "the older version to be stored no more", func() bool {
		return slices.Equal(definition.Status.StoredVersions, []string{"v1"})
	})
	protect(false)
}

// recorded reports whether the given version of the operator was the last one that managed a site.
func recorded(status v1.SiteStatus, version string) bool {
	found := meta.FindStatusCondition(status.Conditions, "Upgraded")
	return found != nil && found.Message == "the version of the operator is "+version
}

// is waits until a condition holds for an object.
func is(t *testing.T, c client.Client, object client.Object, what string, so func() bool) {
	t.Helper()
	localtest.Eventually(t, what, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		if !so() {
			return fmt.Errorf("it is %+v", object)
		}
		return nil
	})
}
