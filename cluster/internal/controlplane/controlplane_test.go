package controlplane_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
)

// The control plane of this test binary: one process holds one.
var (
	plane    *controlplane.ControlPlane
	client   *kubernetes.Clientset
	requests atomic.Int64
	asked    sync.Map // path of a request → when it first came
	looks    moments  // when the garbage collector asked what is served
)

// moments are when something happened. They may be noted by several goroutines.
type moments struct {
	mu  sync.Mutex
	all []time.Time
}

func (m *moments) note() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, time.Now())
}

// since returns those after a moment.
func (m *moments) since(start time.Time) []time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := slices.IndexFunc(m.all, start.Before)
	if at < 0 {
		return nil
	}
	return slices.Clone(m.all[at:])
}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "cp")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	count := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			asked.LoadOrStore(r.URL.Path, time.Now())
			if r.URL.Path == "/apis" && strings.Contains(r.UserAgent(), "generic-garbage-collector") {
				looks.note()
			}
			next.ServeHTTP(w, r)
		})
	}
	plane, err = controlplane.Start(ctx, controlplane.Config{Dir: dir}, controlplane.WithMiddleware(count))
	if err != nil {
		return 1, err
	}
	if err := plane.RememberFirst(ctx); err != nil {
		return 1, err
	}
	if client, err = kubernetes.NewForConfig(plane.AdminConfig()); err != nil {
		return 1, err
	}
	code := m.Run()
	cancel()
	if err := plane.Wait(); err != nil {
		return 1, err
	}
	if _, err := os.Stat(filepath.Join(dir, "etcd.sock")); err == nil {
		return 1, fmt.Errorf("etcd's socket is still there")
	}
	return code, nil
}

// What seed wrote has to be what the API server would have written: every role of the
// policy there, with a UID, and aggregated by the controller.
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
	eventually(t, "role admin is aggregated", func(ctx context.Context) (bool, error) {
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

// A namespace goes away with what is in it, which takes the namespace controller and the
// garbage collector.
func TestNamespaceDeletion(t *testing.T) {
	namespace, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "gone-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	createConfigMap(t, namespace.Name, "a")
	if err := client.CoreV1().Namespaces().Delete(t.Context(), namespace.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the namespace is gone", func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().Namespaces().Get(ctx, namespace.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
}

func TestReset(t *testing.T) {
	for i := range 200 {
		createConfigMap(t, metav1.NamespaceDefault, fmt.Sprintf("reset-%d", i))
	}
	stuck := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "stuck", Finalizers: []string{"example.com/never"}}}
	if _, err := client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(t.Context(), stuck, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.RbacV1().ClusterRoles().Delete(t.Context(), "view", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := plane.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	left, err := client.CoreV1().ConfigMaps(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range left.Items {
		if object.Namespace == metav1.NamespaceDefault && object.Name != "kube-root-ca.crt" || object.Namespace == "team" {
			t.Errorf("%s/%s outlived the reset", object.Namespace, object.Name)
		}
	}
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), "team", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("namespace team outlived the reset: %v", err)
	}
	if _, err := client.RbacV1().ClusterRoles().Get(t.Context(), "view", metav1.GetOptions{}); err != nil {
		t.Errorf("what was deleted is not back: %v", err)
	}
	createConfigMap(t, metav1.NamespaceDefault, "after") // and the cluster goes on
}

func createConfigMap(t *testing.T, namespace, name string) {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// patience is how long tests wait for what should take milliseconds, on a machine that is busy with others.
const patience = 3 * time.Minute

// eventually fails the test unless check holds while there is patience.
func eventually(t *testing.T, what string, check func(context.Context) (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		ok, err := check(ctx)
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain until %s; last error: %v", what, err)
		case <-ticker.C:
		}
	}
}
