package crdcompat_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/tools/crdcompat"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/local/localtest"
)

// kind returns a definition in the test's own group, with the given schema of its spec.
func kind(t *testing.T, group, spec string) *unstructured.Unstructured {
	t.Helper()
	made := &unstructured.Unstructured{}
	text := strings.ReplaceAll(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sites.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Site, plural: sites, singular: site, listKind: SiteList}
  versions:
  - {name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: `+spec+`}}}}}
`, "GROUP", group)
	if err := yaml.Unmarshal([]byte(text), &made.Object); err != nil {
		t.Fatal(err)
	}
	return made
}

// A real API server has exactly the effects that Check predicts.
func TestWhatIsForetoldHappens(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	group := env.Namespace + ".operon.dev"
	old := kind(t, group, "{colour: {type: string}, size: {type: integer}, width: {type: integer}}")
	changed := kind(t, group, `{tint: {type: string}, width: {type: string}, size: {type: integer, x-kubernetes-validations: [{rule: "self % 2 == 1", message: "has to be odd"}]}}`)
	if report, err := crdcompat.Check(t.Context(), env.Config, nil, old); err != nil || report.String() != "sites."+group+" is new\n" {
		t.Fatalf("%v, %v", report, err)
	}
	if err := kube.InstallCRDs(t.Context(), env.Config, "test", old); err != nil {
		t.Fatal(err)
	}
	cluster, err := dynamic.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Resource(kube.CRDs).Delete(context.WithoutCancel(t.Context()), old.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	sites := cluster.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "sites"}).Namespace(env.Namespace)
	for name, spec := range map[string]map[string]any{"red": {"colour": "red"}, "even": {"size": int64(2)}, "odd": {"size": int64(3)}, "wide": {"width": int64(4)}} {
		site := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1", "kind": "Site", "metadata": map[string]any{"name": name}, "spec": spec}}
		if _, err := sites.Create(t.Context(), site, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if report, err := crdcompat.Check(t.Context(), env.Config, nil, old); err != nil || report.String() != "sites."+group+" is unchanged\n" {
		t.Fatalf("%v, %v", report, err)
	}
	report, err := crdcompat.Check(t.Context(), env.Config, nil, changed)
	if err != nil || report.Safe() {
		t.Fatalf("%v, %v", report, err)
	}
	for _, want := range []string{
		"field-pruned v1 spec.colour", "1 object: " + env.Namespace + "/red\n", "4 stored objects looked at",
		"notice value-refused v1 spec.size: Invalid value: 2: has to be odd", "1 object: " + env.Namespace + "/even\n",
		"BREAKS object-invalid v1 spec.width", "1 object: " + env.Namespace + "/wide\n",
	} {
		if !strings.Contains(report.String(), want) {
			t.Errorf("no %q in\n%s", want, report)
		}
	}
	if data, err := json.Marshal(report); err != nil || !strings.Contains(string(data), `"rule":"field-pruned","breaks":true,"version":"v1","path":"spec.colour"`) {
		t.Errorf("%s, %v", data, err)
	}
	all := func(*unstructured.Unstructured) bool { return true }
	if report, err := crdcompat.Check(t.Context(), env.Config, all, changed); err != nil || !report.Safe() {
		t.Errorf("with all objects passed over: %v, %v", report, err)
	}
	if err := kube.InstallCRDs(t.Context(), env.Config, "test", changed); err != nil {
		t.Fatal(err)
	}
	localtest.Eventually(t, "the field to be dropped", func(ctx context.Context) error {
		site, err := sites.Get(ctx, "red", metav1.GetOptions{})
		if err == nil && site.Object["spec"].(map[string]any)["colour"] != nil {
			err = errors.New("it is there")
		}
		return err
	})
	localtest.Eventually(t, "the object to be refused", func(ctx context.Context) error {
		_, err := sites.Patch(ctx, "even", types.MergePatchType, []byte(`{"spec":{"size":4}}`), metav1.PatchOptions{DryRun: []string{"All"}})
		if !apierrors.IsInvalid(err) {
			return errors.New("it is taken")
		}
		return nil
	})
	for _, patch := range []string{`{"metadata":{"labels":{"a":"b"}}}`, `{"spec":{"tint":"red"}}`} {
		if _, err := sites.Patch(t.Context(), "even", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Errorf("a write that does not change the value: %v", err)
		}
	}
	labels := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1", "kind": "Site", "metadata": map[string]any{"name": "wide", "labels": map[string]any{"a": "b"}}}}
	if _, err := sites.Apply(t.Context(), "wide", labels, metav1.ApplyOptions{FieldManager: "test"}); err == nil {
		t.Error("an object with another type can be applied")
	}
	if _, err := sites.Patch(t.Context(), "odd", types.MergePatchType, []byte(`{"spec":{"size":5}}`), metav1.PatchOptions{}); err != nil {
		t.Errorf("what was not foretold: %v", err)
	}
}

// If a conversion webhook does not answer, the stored objects are still checked.
func TestAVersionThatCannotBeReadIsTold(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	group := env.Namespace + ".operon.dev"
	two := func(spec string) *unstructured.Unstructured {
		made := kind(t, group, spec)
		versions, _, err := unstructured.NestedSlice(made.Object, "spec", "versions")
		if err != nil {
			t.Fatal(err)
		}
		older := made.DeepCopy()
		other, _, _ := unstructured.NestedSlice(older.Object, "spec", "versions")
		other[0].(map[string]any)["name"], other[0].(map[string]any)["storage"] = "v1beta1", false
		made.Object["spec"].(map[string]any)["versions"] = append(versions, other[0])
		return made
	}
	old := two("{colour: {type: string}}")
	old.Object["spec"].(map[string]any)["conversion"] = map[string]any{"strategy": "Webhook", "webhook": map[string]any{
		"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"url": "https://127.0.0.1:1/convert"},
	}}
	if err := kube.InstallCRDs(t.Context(), env.Config, "test", old); err != nil {
		t.Fatal(err)
	}
	cluster, err := dynamic.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // a kind without a working conversion would block the deletion of namespaces
		old.Object["spec"].(map[string]any)["conversion"] = map[string]any{"strategy": "None"}
		if err := kube.InstallCRDs(context.WithoutCancel(t.Context()), env.Config, "test", old); err != nil {
			t.Error(err)
		}
		if err := cluster.Resource(kube.CRDs).Delete(context.WithoutCancel(t.Context()), old.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	site := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1", "kind": "Site", "metadata": map[string]any{"name": "red"}, "spec": map[string]any{"colour": "red"}}}
	sites := cluster.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "sites"}).Namespace(env.Namespace)
	if _, err := sites.Create(t.Context(), site, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if report, err := crdcompat.Check(t.Context(), env.Config, nil, two("{colour: {type: string}}")); err != nil || report.Definitions[0].State != crdcompat.Unchanged {
		t.Errorf("%v, %v", report, err)
	}
	report, err := crdcompat.Check(t.Context(), env.Config, nil, two("{tint: {type: string}}"))
	if err != nil || report.Safe() {
		t.Fatalf("%v, %v", report, err)
	}
	for _, want := range []string{"BREAKS field-pruned v1 spec.colour", "notice version-unread v1beta1: its objects were not judged"} {
		if !strings.Contains(report.String(), want) {
			t.Errorf("no %q in\n%s", want, report)
		}
	}
}
