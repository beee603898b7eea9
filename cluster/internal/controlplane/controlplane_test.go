package controlplane_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net/http"
	"os"
	"sync/atomic"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
	"github.com/operon-framework/operon/cluster/internal/controlplane/planetest"
)

// The control plane of this test binary, without accelerations.
var (
	plane    *controlplane.ControlPlane
	client   *kubernetes.Clientset
	requests atomic.Int64
)

func TestMain(m *testing.M) {
	os.Exit(planetest.Run(m, func(ctx context.Context, cfg controlplane.Config) (*controlplane.ControlPlane, error) {
		count := func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				next.ServeHTTP(w, r)
			})
		}
		var err error
		if plane, err = controlplane.Start(ctx, cfg, controlplane.Extension{Handler: count}); err != nil {
			return nil, err
		}
		client, err = kubernetes.NewForConfig(plane.AdminConfig())
		return plane, err
	}))
}

// Every role of the bootstrap policy exists when Start returns, and the controllers aggregate roles.
func TestBootstrapPolicyIsWhole(t *testing.T) {
	roles, err := client.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]rbacv1.ClusterRole{}
	for _, role := range roles.Items {
		if role.UID == "" || role.CreationTimestamp.IsZero() {
			t.Errorf("role %s has no identity", role.Name)
		}
		found[role.Name] = role
	}
	for _, want := range append(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles()...) {
		if _, ok := found[want.Name]; !ok {
			t.Errorf("role %s is missing", want.Name)
		}
	}
	for _, name := range []string{"system-cluster-critical", "system-node-critical"} {
		if _, err := client.SchedulingV1().PriorityClasses().Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
	planetest.Eventually(t, "role admin is aggregated", func(ctx context.Context) (bool, error) {
		admin, err := client.RbacV1().ClusterRoles().Get(ctx, "admin", metav1.GetOptions{})
		return err == nil && len(admin.Rules) > 0, err
	})
}

func TestAnonymousMayNotRead(t *testing.T) {
	config := plane.AdminConfig()
	config.CertData, config.KeyData = nil, nil
	anonymous, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = anonymous.CoreV1().Secrets("kube-system").List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) {
		t.Errorf("anonymous read secrets: %v", err)
	}
}

func TestMiddlewareSeesRequests(t *testing.T) {
	before := requests.Load()
	if _, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if requests.Load() == before {
		t.Error("the middleware saw no request")
	}
}

// Deleting a namespace deletes its contents. This needs the namespace controller and the garbage collector.
func TestNamespaceDeletion(t *testing.T) {
	namespace, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "gone-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().ConfigMaps(namespace.Name).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.CoreV1().Namespaces().Delete(t.Context(), namespace.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "the namespace is gone", func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().Namespaces().Get(ctx, namespace.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
}

// An approved request for a client certificate is signed, and the API server accepts the certificate.
func TestClientCertificates(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "jane"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	requests := client.CertificatesV1().CertificateSigningRequests()
	request, err := requests.Create(t.Context(), &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "jane-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeAPIServerClientSignerName, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	request.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"}}
	if _, err := requests.UpdateApproval(t.Context(), request.Name, request, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "the certificate is signed", func(ctx context.Context) (bool, error) {
		request, err = requests.Get(ctx, request.Name, metav1.GetOptions{})
		return err == nil && len(request.Status.Certificate) > 0, err
	})
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	config := plane.AdminConfig()
	config.CertData, config.KeyData = request.Status.Certificate, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})
	jane, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	review, err := jane.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || review.Status.UserInfo.Username != "jane" {
		t.Errorf("the API server knows the owner of the certificate as %+v, %v", review.Status.UserInfo, err)
	}
}
