package fast_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/cluster/internal/controlplane/planetest"
)

// Every group and version in discovery has a document, starting with the first request.
func TestOpenAPIIsWhole(t *testing.T) {
	paths, err := client.Discovery().OpenAPIV3().Paths()
	if err != nil {
		t.Fatal(err)
	}
	groups, err := client.Discovery().ServerGroups()
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range groups.Groups {
		if strings.HasSuffix(group.Name, ".example.com") {
			continue // created by other tests: being removed
		}
		for _, version := range group.Versions {
			path := "apis/" + version.GroupVersion
			if group.Name == "" {
				path = "api/" + version.GroupVersion
			}
			if paths[path] == nil {
				t.Errorf("no document for %s", path)
			}
		}
	}
	document, err := paths["apis/apps/v1"].Schema("application/json")
	if err != nil || !strings.Contains(string(document), "io.k8s.api.apps.v1.Deployment") {
		t.Errorf("the document of apps/v1 has no Deployment: %v", err)
	}
	swagger, err := client.RESTClient().Get().AbsPath("/openapi/v2").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var v2 struct{ Definitions map[string]any }
	if err := json.Unmarshal(swagger, &v2); err != nil || v2.Definitions["io.k8s.api.core.v1.Pod"] == nil {
		t.Errorf("/openapi/v2 does not define Pod: %v", err)
	}
}

// The API server's admission uses the OpenAPI documents to apply mutating policies, and rejects objects without a document.
func TestMutatingPolicyApplies(t *testing.T) {
	policies := client.AdmissionregistrationV1().MutatingAdmissionPolicies()
	bindings := client.AdmissionregistrationV1().MutatingAdmissionPolicyBindings()
	policy := &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "marks"},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"to-be": "marked"}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
				}}},
			},
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			Mutations: []admissionv1.Mutation{{
				PatchType:          admissionv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionv1.ApplyConfiguration{Expression: `Object{data: {"mark": "yes"}}`},
			}},
		},
	}
	if _, err := policies.Create(t.Context(), policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := policies.Delete(context.Background(), policy.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	binding := &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "marks"},
		Spec:       admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: policy.Name},
	}
	if _, err := bindings.Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bindings.Delete(context.Background(), binding.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	planetest.Eventually(t, "a ConfigMap is marked", func(ctx context.Context) (bool, error) {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "marked-", Labels: map[string]string{"to-be": "marked"}}}
		made, err := client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(ctx, object, metav1.CreateOptions{})
		if err != nil {
			t.Fatalf("a policy's target was refused: %v", err)
		}
		return made.Data["mark"] == "yes", nil
	})
}
