package helm_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/helm"
	"github.com/operon-framework/operon/local/localtest"
)

// shop is a namespace in which an operator runs that was built from the project testdata/till.
type shop struct {
	*testing.T
	*localtest.Env
	client.Client
	// project is a copy of the project, which a test may change.
	project string
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{T: t, Env: localtest.Shared(t), project: t.TempDir()}
	s.InstallCRDs(t, "testdata/till/config/crd")
	s.must(os.CopyFS(s.project, os.DirFS("testdata/till")))
	scheme := runtime.NewScheme()
	s.must(clientgoscheme.AddToScheme(scheme))
	var err error
	s.Client, err = client.New(s.Config, client.Options{Scheme: scheme})
	s.must(err)
	return s
}

func (s *shop) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// write adds or replaces a file of the project.
func (s *shop) write(file, content string) {
	s.Helper()
	path := filepath.Join(s.project, file)
	s.must(os.MkdirAll(filepath.Dir(path), 0o755))
	s.must(os.WriteFile(path, []byte(content), 0o600))
}

// template returns the path of a template in the project.
func template(name string) string { return "helm-charts/till/templates/" + name }

// run runs the operator until stop is called or the test ends.
func (s *shop) run() (seen *requests, stop func()) {
	s.Helper()
	watches, err := engine.Read(filepath.Join(s.project, "watches.yaml"), helm.Engine{})
	s.must(err)
	options, err := engine.Options(watches)
	s.must(err)
	config, seen := rest.CopyConfig(s.Config), &requests{}
	config.Wrap(seen.wrap)
	ctx, cancel := context.WithCancel(context.Background())
	ended, ready := make(chan error, 1), make(chan struct{})
	go func() {
		ended <- operon.Run(ctx, "till-operator", config, operon.Config{Namespace: s.Namespace, Ready: func() { close(ready) }}, options...)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := localtest.Receive(s.T, "end of the operator", ended); err != nil {
			s.Errorf("the operator failed: %v", err)
		}
	})
	s.Cleanup(stop)
	localtest.Receive(s.T, "start of the operator", ready)
	return seen, stop
}

// requests records the requests of an operator.
type requests struct {
	mu   sync.Mutex
	all  []string
	last time.Time
}

func (r *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if !request.URL.Query().Has("watch") && !strings.Contains(request.URL.Path, "/leases/") {
			r.mu.Lock()
			r.all = append(r.all, request.Method+" "+request.URL.RequestURI())
			r.last = time.Now()
			r.mu.Unlock()
		}
		return next.RoundTrip(request)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// latest returns the time of the last request.
func (r *requests) latest() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// since returns the requests after the first n, and the total number of requests.
func (r *requests) since(n int) ([]string, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.all[n:]...), len(r.all)
}

// writes returns the write requests so far.
func (r *requests) writes() []string {
	all, _ := r.since(0)
	var writes []string
	for _, request := range all {
		if !strings.HasPrefix(request, "GET ") && !strings.Contains(request, "selfsubjectaccessreviews") {
			writes = append(writes, request)
		}
	}
	return writes
}

// quiet fails the test if the operator does not become quiescent, or sends requests afterwards.
func (s *shop) quiet(seen *requests) {
	s.Helper()
	s.eventually("the operator has nothing to do", func(context.Context) error {
		if quiet := time.Since(seen.latest()); quiet < time.Second {
			return fmt.Errorf("it sent a request %s ago", quiet)
		}
		return nil
	})
	_, before := seen.since(0)
	localtest.Always(s.T, time.Second, "no request", func(context.Context) error {
		if more, _ := seen.since(before); len(more) > 0 {
			return fmt.Errorf("the idle operator sent %q", more)
		}
		return nil
	})
}

var tillKind = schema.GroupVersionKind{Group: "shop.example.com", Version: "v1", Kind: "Till"}

func (s *shop) till(name string, spec map[string]any) *unstructured.Unstructured {
	till := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	till.SetGroupVersionKind(tillKind)
	till.SetName(name)
	till.SetNamespace(s.Namespace)
	return till
}

// create creates a Till.
func (s *shop) create(name string, spec map[string]any) *unstructured.Unstructured {
	s.Helper()
	till := s.till(name, spec)
	s.must(s.Create(s.Context(), till))
	return till
}

// setSpec merges fields into the spec of a Till.
func (s *shop) setSpec(name string, patch string) {
	s.Helper()
	s.must(s.Patch(s.Context(), s.till(name, nil), client.RawPatch("application/merge-patch+json", []byte(`{"spec":`+patch+`}`))))
}

// status reads the status of a Till.
func (s *shop) status(name string) engine.Status {
	s.Helper()
	var object engine.Object
	till := s.till(name, nil)
	s.must(s.Get(s.Context(), client.ObjectKeyFromObject(till), till))
	s.must(runtime.DefaultUnstructuredConverter.FromUnstructured(till.Object, &object))
	return object.Status
}

// awaitCondition waits until a condition of a Till has a status and a reason. An empty reason matches any reason.
func (s *shop) awaitCondition(name, kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	s.Helper()
	var found metav1.Condition
	localtest.Eventually(s.T, fmt.Sprintf("%s is %s of %s", kind, status, name), func(context.Context) error {
		got := s.status(name)
		c := meta.FindStatusCondition(got.Conditions, kind)
		if c == nil || c.Status != status || reason != "" && c.Reason != reason {
			return fmt.Errorf("the conditions are %+v", got.Conditions)
		}
		found = *c
		return nil
	})
	return found
}

func (s *shop) awaitReady(name string) {
	s.Helper()
	till := s.till(name, nil)
	localtest.Eventually(s.T, name+" is ready", func(ctx context.Context) error {
		if err := s.Get(ctx, client.ObjectKeyFromObject(till), till); err != nil {
			return err
		}
		status := s.status(name)
		if status.ObservedGeneration != till.GetGeneration() || !meta.IsStatusConditionTrue(status.Conditions, "Ready") {
			return fmt.Errorf("the status is %+v", status.Conditions)
		}
		return nil
	})
}

// config reads the data of a ConfigMap.
func (s *shop) config(name string) map[string]string {
	s.Helper()
	var found corev1.ConfigMap
	s.must(s.Get(s.Context(), client.ObjectKey{Namespace: s.Namespace, Name: name}, &found))
	return found.Data
}

// eventuallyConfig waits until the data of a ConfigMap has a value.
func (s *shop) eventuallyConfig(name, key, want string) {
	s.Helper()
	localtest.Eventually(s.T, fmt.Sprintf("%s of %s is %q", key, name, want), func(ctx context.Context) error {
		var found corev1.ConfigMap
		if err := s.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, &found); err != nil {
			return err
		}
		if found.Data[key] != want {
			return fmt.Errorf("the data is %v", found.Data)
		}
		return nil
	})
}

func (s *shop) eventually(what string, check func(context.Context) error) {
	s.Helper()
	localtest.Eventually(s.T, what, check)
}

// eventuallyGone waits until an object does not exist.
func (s *shop) eventuallyGone(object client.Object) {
	s.Helper()
	localtest.Eventually(s.T, object.GetName()+" is gone", func(ctx context.Context) error {
		err := s.Get(ctx, client.ObjectKeyFromObject(object), object)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err == nil {
			return errors.New("it exists")
		}
		return nil
	})
}

func (s *shop) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.Namespace, Name: name}
}
