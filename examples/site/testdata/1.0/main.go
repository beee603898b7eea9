// Command 1.0 is the site operator as it was before version 2, as far as it matters to those who upgrade
// from it: it keeps the pages of a site in a ConfigMap.
package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon"

	"github.com/operon-framework/operon/examples/site/api/v1alpha1"
)

func main() {
	operon.Main("site-operator", operon.Version("1.0.0"), operon.API(v1alpha1.AddToScheme), operon.Manage(site{}))
}

type site struct{}

// Compose declares the pages.
func (site) Compose(_ context.Context, s *v1alpha1.Site, out *operon.Composition) error {
	front := "<h1>" + s.Spec.Hostname + "</h1>"
	out.Child(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: s.Name}, Data: map[string]string{"index.html": front}})
	return nil
}
