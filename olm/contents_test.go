package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// contents are objects as text, by kind and name, without what differs between two namespaces and two times.
type contents map[string]string

// Kinds that the manager, or a user of it, writes in the namespace of an operator, and outside of it.
var (
	kindsInside = []schema.GroupVersionKind{
		{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "Subscription"}, {Group: "operators.coreos.com", Version: "v1alpha1", Kind: "InstallPlan"},
		{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "ClusterServiceVersion"}, {Group: "operators.coreos.com", Version: "v1alpha1", Kind: "CatalogSource"},
		{Group: "operators.coreos.com", Version: "v1", Kind: "OperatorGroup"}, {Group: "operators.coreos.com", Version: "v2", Kind: "OperatorCondition"},
		{Group: "apps", Version: "v1", Kind: "Deployment"}, {Version: "v1", Kind: "ServiceAccount"}, {Version: "v1", Kind: "ConfigMap"},
		{Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "Service"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"}, {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
	}
	kindsOutside = []schema.GroupVersionKind{
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}, {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"}, // of API servers, in kube-system
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"},
		{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"},
	}
	kindsByName = []schema.GroupVersionKind{
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		{Group: "olm.operatorframework.io", Version: "v1", Kind: "ClusterExtension"}, {Group: "olm.operatorframework.io", Version: "v1", Kind: "ClusterCatalog"},
	}
)

// contents returns all objects of the operators of the namespace. differ are texts and what stands for them.
func (w *world) contents(ctx context.Context, differ []string) (contents, error) {
	same := map[string][]string{} // of names that differ only in a hash
	replace := strings.NewReplacer(append([]string{w.Namespace, "$NAMESPACE"}, differ...)...)
	add := func(kind schema.GroupVersionKind, named string, options ...client.ListOption) error {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind + "List"})
		if err := w.List(ctx, list, options...); err != nil {
			return err
		}
		for i := range list.Items {
			object := &list.Items[i]
			if object.GetName() == "kube-root-ca.crt" || object.GetName() == "default" || !strings.Contains(object.GetName(), named) {
				continue
			}
			key := neutral(replace.Replace(kind.Kind + " " + object.GetName()))
			text, err := json.Marshal(plainly(object))
			if err != nil {
				return err
			}
			same[key] = append(same[key], neutral(replace.Replace(string(text))))
		}
		return nil
	}
	var problems []error
	for _, kind := range kindsInside {
		problems = append(problems, add(kind, "", client.InNamespace(w.Namespace)))
	}
	for _, kind := range kindsOutside {
		options := []client.ListOption{client.MatchingLabels{"olm.owner.namespace": w.Namespace}}
		if kind.Kind == "RoleBinding" {
			options = append(options, client.InNamespace(metav1.NamespaceSystem))
		}
		problems = append(problems, add(kind, "", options...))
	}
	for _, kind := range kindsByName {
		problems = append(problems, add(kind, w.Namespace))
	}
	all := contents{}
	for key, texts := range same {
		slices.Sort(texts)
		all[key] = strings.Join(texts, "\n")
	}
	return all, errors.Join(problems...)
}

// Texts that differ at each time: identifiers and digests, times, and certificates.
var (
	identifiers  = regexp.MustCompile(`applyset-[A-Za-z0-9_-]{43}-v1|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{8,}`)
	times        = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z`)
	certificates = regexp.MustCompile(`LS0tLS1C[A-Za-z0-9+/=]+`) // PEM in base64
)

func neutral(text string) string {
	return times.ReplaceAllString(identifiers.ReplaceAllString(certificates.ReplaceAllString(text, "$$PEM"), "$$ID"), "$$TIME")
}

// plainly returns an object without what API servers count and choose, and with the part of its status that says how an operation ended.
func plainly(object *unstructured.Unstructured) map[string]any {
	o := object.Object
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
		unstructured.RemoveNestedField(o, "metadata", field)
	}
	annotations := object.GetAnnotations()
	maps.DeleteFunc(annotations, func(key, _ string) bool { return strings.HasPrefix(key, "applyset.kubernetes.io/") }) // kinds that it had
	object.SetAnnotations(annotations)
	finalizers := object.GetFinalizers()
	slices.Sort(finalizers)
	object.SetFinalizers(finalizers)
	status, _, _ := unstructured.NestedMap(o, "status")
	delete(o, "status")
	switch object.GetKind() {
	case "Secret":
		data, _, _ := unstructured.NestedMap(o, "data")
		o["data"] = slices.Sorted(maps.Keys(data))
	case "Service":
		spec, _, _ := unstructured.NestedMap(o, "spec")
		maps.DeleteFunc(spec, func(field string, _ any) bool {
			return strings.HasPrefix(field, "clusterIP") || strings.HasPrefix(field, "ipFamil")
		})
		o["spec"] = spec
	case "Subscription":
		o["status"] = []any{status["state"], status["installedCSV"], status["currentCSV"], status["installPlanGeneration"], reasons(status)}
	case "ClusterServiceVersion":
		o["status"] = []any{status["phase"], status["reason"], status["message"], status["requirementStatus"], status["conversions"], status["permissionsDigest"], status["config"]}
	case "InstallPlan":
		steps, _, _ := unstructured.NestedSlice(status, "plan")
		for _, step := range steps { // whether an object existed before may be forgotten
			delete(step.(map[string]any), "status")
		}
		o["status"] = []any{status["phase"], status["message"], steps, reasons(status)}
	case "OperatorGroup":
		o["status"] = status["namespaces"]
	case "ClusterExtension", "ClusterCatalog":
		o["status"] = []any{status["install"], status["resolvedSource"], reasons(status)}
	}
	return o
}

// reasons returns the conditions of a status without their times.
func reasons(status map[string]any) (all []string) {
	conditions, _, _ := unstructured.NestedSlice(status, "conditions")
	for _, one := range conditions {
		condition := one.(map[string]any)
		all = append(all, fmt.Sprint(condition["type"], "=", condition["status"], " ", condition["reason"], ": ", condition["message"]))
	}
	slices.Sort(all)
	return all
}

// equal returns how other contents differ.
func (c contents) equal(other contents) error {
	var all []string
	for key, want := range c {
		if got, exists := other[key]; !exists {
			all = append(all, key+" does not exist")
		} else if got != want {
			at := 0
			for at < min(len(got), len(want)) && got[at] == want[at] {
				at++
			}
			all = append(all, fmt.Sprintf("%s has %q, want %q", key, around(got, at), around(want, at)))
		}
	}
	for key := range other {
		if _, wanted := c[key]; !wanted {
			all = append(all, key+" exists")
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return fmt.Errorf("%d objects differ: %s", len(all), strings.Join(all, "\n"))
}

// counts returns how many objects there are of each kind.
func (c contents) counts() string {
	all := map[string]int{}
	for key, texts := range c {
		kind, _, _ := strings.Cut(key, " ")
		all[kind] += 1 + strings.Count(texts, "\n")
	}
	return fmt.Sprint(all)
}

// around returns the text around a place.
func around(text string, at int) string {
	return text[max(0, at-100):min(len(text), at+200)]
}
