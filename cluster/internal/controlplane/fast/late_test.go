package fast_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/cluster/internal/controlplane/planetest"
)

// An object that a webhook reviews while its namespace is deleted is not stored without a namespace.
func TestNamespaceGoesDuringAReview(t *testing.T) {
	reviews := make(chan chan struct{}, 1)
	reviewInTest(t, func(review *admissionv1.AdmissionRequest) bool {
		if review.Name == "probe" {
			return false
		}
		gone := make(chan struct{})
		reviews <- gone
		<-gone
		return true
	})
	// The cache of the API server learns of the end of a namespace a moment after the test.
	for attempt := range 10 {
		err := createDuringDeletion(t, fmt.Sprint("reviewed-", attempt), reviews)
		switch {
		case apierrors.IsInternalError(err) && strings.Contains(err.Error(), "deadline exceeded"):
			t.Logf("the namespace took longer to go than a webhook may take: %v", err)
			continue
		case !apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
			t.Errorf("an object whose namespace is gone: %v; want not found, or that the namespace is being terminated", err)
		}
		return
	}
	t.Error("no namespace went during a review")
}

// createDuringDeletion creates an object in a new namespace that is deleted while the webhook reviews the object. Each review waits
// until its channel is closed.
func createDuringDeletion(t *testing.T, name string, reviews <-chan chan struct{}) error {
	t.Helper()
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	create := func(object string, dryRun ...string) error {
		meta := metav1.ObjectMeta{Name: object, Labels: map[string]string{"test": name}}
		_, err := client.CoreV1().ConfigMaps(name).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: meta}, metav1.CreateOptions{DryRun: dryRun})
		return err
	}
	planetest.Eventually(t, "the webhook is called", func(context.Context) (bool, error) { return create("probe", metav1.DryRunAll) != nil, nil })
	created := make(chan error, 1)
	go func() { created <- create("late") }()
	var gone chan struct{}
	select {
	case gone = <-reviews:
	case err := <-created:
		t.Fatalf("the object was not reviewed: %v", err)
	}
	end := sync.OnceFunc(func() { close(gone) })
	t.Cleanup(end)
	if err := client.CoreV1().Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "the namespace is gone", func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), err
	})
	end()
	return <-created
}

// reviewInTest makes a function review new ConfigMaps with the label test.
func reviewInTest(t *testing.T, allows func(*admissionv1.AdmissionRequest) bool) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
			return
		}
		review.Response, review.Request = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: allows(review.Request)}, nil
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	webhooks := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "review.example.com"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "review.example.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL:      &server.URL,
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
			ObjectSelector:          &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "test", Operator: metav1.LabelSelectorOpExists}}},
			TimeoutSeconds:          new(int32(30)),
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
	if _, err := webhooks.Create(t.Context(), configuration, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := webhooks.Delete(context.Background(), configuration.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}
