package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/rotation"
	"github.com/operon-framework/operon/local"
	"github.com/operon-framework/operon/local/localtest"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/olm/internal/csv"
)

// hooked adds webhooks and an API to an operator. $PORT stands for that of the operator.
const hooked = `
  apiservicedefinitions:
    owned:
    - {group: stock.$GROUP, version: v1, kind: Item, deploymentName: memcached-operator, containerPort: $PORT}
  webhookdefinitions:
  - type: ValidatingAdmissionWebhook
    generateName: vmemcached.$GROUP
    deploymentName: memcached-operator
    containerPort: $PORT
    webhookPath: /validate
    rules: [{apiGroups: [$GROUP], apiVersions: ["*"], operations: [CREATE], resources: [memcacheds]}]
    failurePolicy: Fail
    sideEffects: None
    timeoutSeconds: 30
    admissionReviewVersions: [v1]
  - type: MutatingAdmissionWebhook
    generateName: mmemcached.$GROUP
    deploymentName: memcached-operator
    containerPort: $PORT
    webhookPath: /mutate
    rules: [{apiGroups: [$GROUP], apiVersions: ["*"], operations: [CREATE], resources: [memcacheds]}]
    failurePolicy: Fail
    sideEffects: None
    timeoutSeconds: 30
    admissionReviewVersions: [v1]
  - type: ConversionWebhook
    generateName: cmemcached.$GROUP
    deploymentName: memcached-operator
    containerPort: $PORT
    webhookPath: /convert
    conversionCRDs: [memcacheds.$GROUP]
    admissionReviewVersions: [v1]
`

// An operator serves webhooks and an API, with certificates that API servers trust also while they are rotated. Its next version takes
// everything over, and nothing is left when that is deleted.
func TestWebhooksAndAPIServices(t *testing.T) {
	t.Parallel()
	w := &world{T: t, Env: localtest.New(t, local.Options{Nodes: 1})} // the manager sees children in kube-system
	w.connect()
	clock := testclock.NewFakePassiveClock(time.Now())
	day := 24 * time.Hour
	w.csvs = &csv.Composer{Clock: clock, Times: rotation.Times{CA: 300 * day, Leaf: 300 * day, Settle: 5 * time.Minute, Skew: 20 * 365 * day}} // valid by real clocks, too
	w.run()
	h := newHooks(w)
	all := w.operatorGroup("group")
	all.Spec.TargetNamespaces = nil
	w.Add(all)
	w.Add(h.requirements()...)
	w.Add(h.version(memcached))
	h.redirect()
	first := w.AwaitPhase("memcached-operator.v0.0.1", v1alpha1.PhaseSucceeded, "")
	if !strings.Contains(states(first), "APIService=DeploymentFound") || first.Status.CertsRotateAt.Sub(first.Status.CertsLastUpdated.Time) != 200*day {
		t.Errorf("the status is %+v", first.Status)
	}
	h.answers()

	h.rotates(clock, first)
	h.upgrades(first)
	h.drops("memcached-operator.v0.0.2")
	h.uninstalls("memcached-operator.v0.0.2")
	h.abandons()
	h.refuses()
}

// hooks is what the pods of an operator would serve, in the process of the test.
type hooks struct {
	*world
	port int32
	// requests counts those that were answered.
	requests atomic.Int32
}

// serviceName is the name of the Service of the operator.
const serviceName = "memcached-operator-service"

func newHooks(w *world) *hooks {
	w.Helper()
	listener, err := net.Listen("tcp", "localhost:0")
	w.Must(err)
	h := &hooks{world: w, port: int32(listener.Addr().(*net.TCPAddr).Port)}
	mux := http.NewServeMux()
	mux.HandleFunc("/validate", h.review(func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if r.Name == "bad" {
			return &admissionv1.AdmissionResponse{Result: &metav1.Status{Message: "it is bad"}}
		}
		return &admissionv1.AdmissionResponse{Allowed: true}
	}))
	mux.HandleFunc("/mutate", h.review(func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		kind := admissionv1.PatchTypeJSONPatch
		return &admissionv1.AdmissionResponse{Allowed: true, PatchType: &kind, Patch: []byte(`[{"op":"add","path":"/metadata/labels","value":{"mutated":"yes"}}]`)}
	}))
	mux.HandleFunc("/convert", h.convert)
	mux.HandleFunc("/apis/stock."+w.group+"/v1", func(rw http.ResponseWriter, _ *http.Request) {
		h.write(rw, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "stock." + w.group + "/v1"})
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute, TLSConfig: &tls.Config{GetCertificate: h.certificate}} //nolint:gosec // of a test
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(listener, "", "") }()
	w.Cleanup(func() {
		w.Must(server.Close())
		if err := localtest.Receive(w.T, "the end of the server", ended); !errors.Is(err, http.ErrServerClosed) {
			w.Error(err)
		}
	})
	return h
}

// certificate returns what a pod with the Secret serves.
func (h *hooks) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	secret := &corev1.Secret{}
	if err := h.Get(context.WithoutCancel(h.Context()), client.ObjectKey{Namespace: h.Namespace, Name: serviceName + "-cert"}, secret); err != nil {
		return nil, err
	}
	served, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	return &served, err
}

func (h *hooks) write(rw http.ResponseWriter, answer any) {
	h.requests.Add(1)
	rw.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(rw).Encode(answer); err != nil {
		h.Error(err)
	}
}

func (h *hooks) review(decide func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			h.Error(err)
			return
		}
		review.Response = decide(review.Request)
		review.Response.UID = review.Request.UID
		h.write(rw, review)
	}
}

// convert converts between versions whose fields have other names.
func (h *hooks) convert(rw http.ResponseWriter, r *http.Request) {
	var review apiextensionsv1.ConversionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		h.Error(err)
		return
	}
	review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, raw := range review.Request.Objects {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(raw.Raw); err != nil {
			h.Error(err)
			return
		}
		from, to := "size", "count"
		if strings.HasSuffix(review.Request.DesiredAPIVersion, "/v1alpha1") {
			from, to = to, from
		}
		spec, _ := object.Object["spec"].(map[string]any)
		if value, has := spec[from]; has {
			spec[to] = value
			delete(spec, from)
		}
		object.SetAPIVersion(review.Request.DesiredAPIVersion)
		review.Response.ConvertedObjects = append(review.Response.ConvertedObjects, runtime.RawExtension{Object: object})
	}
	h.write(rw, review)
}

// version returns a version of the operator with webhooks.
func (h *hooks) version(text string) *v1alpha1.ClusterServiceVersion {
	for _, mode := range []string{"OwnNamespace", "SingleNamespace"} {
		text = strings.Replace(text, mode+", supported: true", mode+", supported: false", 1)
	}
	return h.csv(strings.ReplaceAll(text+hooked, "$PORT", strconv.Itoa(int(h.port))))
}

// requirements have a kind with two versions.
func (h *hooks) requirements() []client.Object {
	all := h.world.requirements()
	crd := all[0].(*apiextensionsv1.CustomResourceDefinition)
	second := *crd.Spec.Versions[0].DeepCopy()
	second.Name, second.Storage = "v1beta1", false
	crd.Spec.Versions = append(crd.Spec.Versions, second)
	return all
}

// redirect makes the Service lead to this process, as pods of the operator would answer.
func (h *hooks) redirect() {
	h.Helper()
	service := &corev1.Service{ObjectMeta: h.Named(serviceName)}
	h.eventually("the Service", func(ctx context.Context) error {
		return h.Patch(ctx, service, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"type":"ExternalName","externalName":"localhost"}}`)))
	})
}

func (h *hooks) memcached(version, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(3)}}}
	object.SetAPIVersion(h.group + "/" + version)
	object.SetKind("Memcached")
	object.SetNamespace(h.Namespace)
	object.SetName(name)
	return object
}

// answers checks that API servers call all webhooks and the API.
func (h *hooks) answers() {
	h.Helper()
	if err := h.Create(h.Context(), h.memcached("v1alpha1", "bad")); err == nil || !strings.Contains(err.Error(), "it is bad") {
		h.Errorf("the validating webhook: error %v", err)
	}
	good := h.memcached("v1alpha1", "good")
	h.Add(good)
	if good.GetLabels()["mutated"] != "yes" {
		h.Errorf("the mutating webhook changed nothing: %v", good)
	}
	h.Must(h.converted(h.Context()))
	h.serves()
}

// converted reads an object in another version than the stored one.
func (h *hooks) converted(ctx context.Context) error {
	other := h.memcached("v1beta1", "good")
	if err := h.Get(ctx, client.ObjectKeyFromObject(other), other); err != nil {
		return err
	}
	if spec := other.Object["spec"]; fmt.Sprint(spec) != "map[count:3]" {
		return fmt.Errorf("the conversion webhook returned %v", spec)
	}
	return nil
}

// serves checks that the aggregated API answers.
func (h *hooks) serves() {
	h.Helper()
	transport, err := rest.HTTPClientFor(h.Config)
	h.Must(err)
	localtest.Eventually(h.T, "an answer of the API", func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, h.Config.Host+"/apis/stock."+h.group+"/v1", http.NoBody)
		if err != nil {
			return err
		}
		response, err := transport.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("the API answers %s", response.Status)
		}
		return nil
	})
}

// rotates checks that no request fails during a rotation.
func (h *hooks) rotates(clock *testclock.FakePassiveClock, of *v1alpha1.ClusterServiceVersion) {
	h.Helper()
	before := h.deployment("memcached-operator").Spec.Template.Annotations["olmcahash"]
	if secret := h.secret(); before == "" || secret.Annotations["olmcahash"] != before || len(secret.Data["olmCAKey"]) == 0 {
		h.Errorf("the pods have the CA %q, the Secret is %v", before, secret.Annotations)
	}
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- h.traffic(stop) }()
	clock.SetTime(clock.Now().Add(201 * 24 * time.Hour))
	h.touch(of, "due")
	localtest.Eventually(h.T, "both CAs in all bundles", func(ctx context.Context) error {
		for _, bundle := range h.bundles(ctx) {
			if strings.Count(string(bundle), "BEGIN") != 2 {
				return fmt.Errorf("a bundle is %s", bundle)
			}
		}
		if since := string(h.secret().Data["next-ca.since"]); since < "2000" {
			return fmt.Errorf("the next CA has been known since %q", since)
		}
		return nil
	})
	clock.SetTime(clock.Now().Add(6 * time.Minute))
	h.touch(of, "settled")
	localtest.Eventually(h.T, "pods with the next CA", func(context.Context) error {
		after := h.deployment("memcached-operator").Spec.Template.Annotations["olmcahash"]
		if secret := h.secret(); after == before || secret.Annotations["olmcahash"] != after {
			return fmt.Errorf("the CA of the pods was %s and is %s, that of the Secret is %v", before, after, secret.Annotations)
		}
		return nil
	})
	from := h.requests.Load()
	localtest.Eventually(h.T, "requests with the next certificate", func(context.Context) error {
		if now := h.requests.Load(); now < from+10 {
			return fmt.Errorf("%d requests", now-from)
		}
		return nil
	})
	close(stop)
	h.Must(localtest.Receive(h.T, "the end of the requests", ended))
	rotated := h.AwaitPhase(of.Name, v1alpha1.PhaseSucceeded, "")
	for _, one := range rotated.Status.History {
		if one.Phase == v1alpha1.PhaseFailed {
			h.Errorf("the phase was %+v", one)
		}
	}
	if !rotated.Status.CertsLastUpdated.After(of.Status.CertsLastUpdated.Time) {
		h.Errorf("the certificates are from %s", rotated.Status.CertsLastUpdated)
	}
}

// traffic sends requests that call all webhooks, until one fails.
func (h *hooks) traffic(stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		ctx := context.WithoutCancel(h.Context())
		if err := errors.Join(h.Create(ctx, h.memcached("v1alpha1", "more"), client.DryRunAll), h.converted(ctx)); err != nil {
			return err
		}
	}
}

// touch makes the manager reconcile a version, without a change of its pods.
func (h *hooks) touch(of *v1alpha1.ClusterServiceVersion, value string) {
	h.Helper()
	h.Must(h.Patch(h.Context(), &v1alpha1.ClusterServiceVersion{ObjectMeta: h.Named(of.Name)}, client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"annotations":{"kubectl.kubernetes.io/touched":"`+value+`"}}}`))))
}

func (h *hooks) secret() *corev1.Secret {
	h.Helper()
	secret := &corev1.Secret{}
	h.Must(h.Get(h.Context(), client.ObjectKey{Namespace: h.Namespace, Name: serviceName + "-cert"}, secret))
	return secret
}

func (h *hooks) crd() *apiextensionsv1.CustomResourceDefinition {
	h.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	h.Must(h.Get(h.Context(), client.ObjectKey{Name: "memcacheds." + h.group}, crd))
	return crd
}

// registered returns the objects outside of the namespace that are labeled for an operator of it.
func (h *hooks) registered(ctx context.Context) (all []client.Object) {
	h.Helper()
	own := client.MatchingLabels{"olm.owner.namespace": h.Namespace}
	var validating admissionregistrationv1.ValidatingWebhookConfigurationList
	var mutating admissionregistrationv1.MutatingWebhookConfigurationList
	var apis apiregistrationv1.APIServiceList
	var clusterWide rbacv1.ClusterRoleBindingList
	var bindings rbacv1.RoleBindingList
	h.Must(errors.Join(h.List(ctx, &validating, own), h.List(ctx, &mutating, own), h.List(ctx, &apis, own), h.List(ctx, &clusterWide, own),
		h.List(ctx, &bindings, own, client.InNamespace(metav1.NamespaceSystem))))
	for i := range validating.Items {
		all = append(all, &validating.Items[i])
	}
	for i := range mutating.Items {
		all = append(all, &mutating.Items[i])
	}
	for i := range apis.Items {
		all = append(all, &apis.Items[i])
	}
	for i := range clusterWide.Items {
		all = append(all, &clusterWide.Items[i])
	}
	for i := range bindings.Items {
		all = append(all, &bindings.Items[i])
	}
	return all
}

// bundles returns the CAs that API servers trust for the operator, by each object.
func (h *hooks) bundles(ctx context.Context) (all [][]byte) {
	h.Helper()
	for _, object := range h.registered(ctx) {
		switch object := object.(type) {
		case *admissionregistrationv1.ValidatingWebhookConfiguration:
			all = append(all, object.Webhooks[0].ClientConfig.CABundle)
		case *admissionregistrationv1.MutatingWebhookConfiguration:
			all = append(all, object.Webhooks[0].ClientConfig.CABundle)
		case *apiregistrationv1.APIService:
			all = append(all, object.Spec.CABundle)
		}
	}
	all = append(all, h.crd().Spec.Conversion.Webhook.ClientConfig.CABundle)
	if len(all) != 4 {
		h.Errorf("there are %d bundles", len(all))
	}
	return all
}
