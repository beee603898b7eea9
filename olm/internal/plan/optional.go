package plan

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// definitions are the CustomResourceDefinitions of the kinds that bundles may contain and that not every cluster has.
var definitions = map[schema.GroupKind]string{
	{Group: "autoscaling.k8s.io", Kind: "VerticalPodAutoscaler"}: "verticalpodautoscalers.autoscaling.k8s.io",
	{Group: "console.openshift.io", Kind: "ConsoleCLIDownload"}:  "consoleclidownloads.console.openshift.io",
	{Group: "console.openshift.io", Kind: "ConsoleLink"}:         "consolelinks.console.openshift.io",
	{Group: "console.openshift.io", Kind: "ConsolePlugin"}:       "consoleplugins.console.openshift.io",
	{Group: "console.openshift.io", Kind: "ConsoleQuickStart"}:   "consolequickstarts.console.openshift.io",
	{Group: "console.openshift.io", Kind: "ConsoleYAMLSample"}:   "consoleyamlsamples.console.openshift.io",
	{Group: "monitoring.coreos.com", Kind: "PodMonitor"}:         "podmonitors.monitoring.coreos.com",
	{Group: "monitoring.coreos.com", Kind: "PrometheusRule"}:     "prometheusrules.monitoring.coreos.com",
	{Group: "monitoring.coreos.com", Kind: "ServiceMonitor"}:     "servicemonitors.monitoring.coreos.com",
}

// Optional reports whether a kind exists only in clusters with its CustomResourceDefinition.
func Optional(kind schema.GroupKind) bool { return definitions[kind] != "" }

// reader reads objects, and the object that is reconciled is reconciled again when they change.
type reader interface {
	Get(ctx context.Context, object client.Object) (bool, error)
}

// Lacks returns why the cluster does not serve an optional kind, or an empty string.
func Lacks(ctx context.Context, reader reader, kind schema.GroupVersionKind) (string, error) {
	if !Optional(kind.GroupKind()) {
		return "", nil
	}
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: definitions[kind.GroupKind()]}}
	found, err := reader.Get(ctx, crd)
	switch {
	case err != nil:
		return "", err
	case !found:
		return fmt.Sprintf("the cluster has no CustomResourceDefinition %s", crd.Name), nil
	case !slices.ContainsFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Served && v.Name == kind.Version
	}):
		return fmt.Sprintf("the CustomResourceDefinition %s does not serve the version %s", crd.Name, kind.Version), nil
	}
	return "", nil
}
