// Package enginetest runs operators without Go on the local cluster, for the tests of engines. An Operator is a project with a
// watches.yaml in a namespace of its own; its methods change objects of the project's kind and wait for their conditions.
package enginetest

import (
	"cmp"
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
	"github.com/operon-framework/operon/local/localtest"
)

// Operator is an operator without Go in a namespace of its own.
type Operator struct {
	*testing.T
	*localtest.Env
	client.Client
	// Project is a copy of the project, which a test may change.
	Project string
	// Kind is the kind of the objects that New returns.
	Kind schema.GroupVersionKind
	// Engines returns the engines that run the project. It is called at each start.
	Engines func() []engine.Engine
	// Connection is the operator's connection. Default: that of an administrator.
	Connection *rest.Config
	// Shards is the number of replicas between which the objects can be shared. 0: they are not shared.
	Shards int
	// DryRun, if set, makes the operator write nothing.
	DryRun func(operon.Preview)
}

// New returns the operator of a project, which has its CRDs in config/crd. It does not run yet.
func New(t *testing.T, project string, kind schema.GroupVersionKind, engines func() []engine.Engine) *Operator {
	t.Helper()
	s := &Operator{T: t, Env: localtest.Shared(t), Project: t.TempDir(), Kind: kind, Engines: engines}
	s.InstallCRDs(t, filepath.Join(project, "config/crd"))
	s.Must(os.CopyFS(s.Project, os.DirFS(project)))
	scheme := runtime.NewScheme()
	s.Must(clientgoscheme.AddToScheme(scheme))
	var err error
	s.Client, err = client.New(s.Config, client.Options{Scheme: scheme})
	s.Must(err)
	return s
}

// Must fails the test if there is an error.
func (s *Operator) Must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// Write adds or replaces a file of the project.
func (s *Operator) Write(file, content string) {
	s.Helper()
	path := filepath.Join(s.Project, file)
	s.Must(os.MkdirAll(filepath.Dir(path), 0o755))
	s.Must(os.WriteFile(path, []byte(content), 0o600))
}

// Start runs the operator until stop is called or the test ends.
func (s *Operator) Start() (seen *Requests, stop func()) {
	s.Helper()
	watches, err := engine.Read(filepath.Join(s.Project, "watches.yaml"), s.Engines()...)
	s.Must(err)
	options, err := engine.Options(watches)
	s.Must(err)
	config, seen := rest.CopyConfig(cmp.Or(s.Connection, s.Config)), &Requests{}
	config.Wrap(seen.wrap)
	ctx, cancel := context.WithCancel(context.Background())
	ended, ready := make(chan error, 1), make(chan struct{})
	go func() {
		ended <- operon.Run(ctx, "engine-test", config, operon.Config{
			Namespace: s.Namespace, Shards: s.Shards, DryRun: s.DryRun, Ready: func() { close(ready) },
			LeaderElection: s.Shards > 0, LeaderElectionNamespace: s.Namespace,
		}, options...)
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

// Requests records the requests of an operator.
type Requests struct {
	mu   sync.Mutex
	all  []string
	last time.Time
	// created are the paths of the requests that created an object.
	created []string
}

func (r *Requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if !request.URL.Query().Has("watch") && !strings.Contains(request.URL.Path, "/leases/") {
			r.mu.Lock()
			r.all = append(r.all, request.Method+" "+request.URL.RequestURI())
			r.last = time.Now()
			r.mu.Unlock()
		}
		response, err := next.RoundTrip(request)
		if err == nil && response.StatusCode == http.StatusCreated {
			r.mu.Lock()
			r.created = append(r.created, request.URL.Path)
			r.mu.Unlock()
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Latest returns the time of the last request.
func (r *Requests) Latest() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// Since returns the requests after the first n, and the total number of requests.
func (r *Requests) Since(n int) ([]string, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.all[n:]...), len(r.all)
}

// Writes returns the write requests so far.
func (r *Requests) Writes() []string {
	all, _ := r.Since(0)
	var writes []string
	for _, request := range all {
		if !strings.HasPrefix(request, "GET ") && !strings.Contains(request, "selfsubjectaccessreviews") {
			writes = append(writes, request)
		}
	}
	return writes
}

// Created returns the number of objects that were created at paths that contain a text. A request to create an object that exists
// does not count: an operator sends it if its watch is late.
func (r *Requests) Created(path string) (count int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, created := range r.created {
		if strings.Contains(created, path) {
			count++
		}
	}
	return count
}

// Quiet waits until the operator has sent requests and then none for two seconds, or longer on a slow machine, and fails the
// test if it does not become quiescent.
func (s *Operator) Quiet(seen *Requests) {
	s.Helper()
	s.Eventually("the operator has nothing to do", func(ctx context.Context) error {
		began := time.Now()
		if err := s.Get(ctx, client.ObjectKey{Name: s.Namespace}, &corev1.Namespace{}); err != nil {
			return err
		}
		enough := max(2*time.Second, 20*time.Since(began)) // more where a request takes long
		all, sent := seen.Since(0)
		if quiet := time.Since(seen.Latest()); sent == 0 || quiet < enough {
			return fmt.Errorf("it sent %d requests, the last ones %s ago: %q", sent, quiet, all[max(0, sent-5):])
		}
		return nil
	})
}

// New returns an object of the kind with a spec, which does not exist yet.
func (s *Operator) New(name string, spec map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(s.Kind)
	object.SetName(name)
	object.SetNamespace(s.Namespace)
	return object
}

// Add creates an object.
func (s *Operator) Add(name string, spec map[string]any) *unstructured.Unstructured {
	s.Helper()
	object := s.New(name, spec)
	s.Must(s.Create(s.Context(), object))
	return object
}

// SetSpec merges fields into the spec of an object.
func (s *Operator) SetSpec(name string, patch string) {
	s.Helper()
	s.Must(s.Patch(s.Context(), s.New(name, nil), client.RawPatch("application/merge-patch+json", []byte(`{"spec":`+patch+`}`))))
}

// StatusOf reads the status of an object.
func (s *Operator) StatusOf(name string) engine.Status {
	s.Helper()
	var typed engine.Object
	object := s.New(name, nil)
	s.Must(s.Get(s.Context(), client.ObjectKeyFromObject(object), object))
	s.Must(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &typed))
	return typed.Status
}

// AwaitCondition waits until a condition of an object has a status and a reason. An empty reason matches any reason.
func (s *Operator) AwaitCondition(name, kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	s.Helper()
	var found metav1.Condition
	localtest.Eventually(s.T, fmt.Sprintf("%s is %s of %s", kind, status, name), func(context.Context) error {
		got := s.StatusOf(name)
		c := meta.FindStatusCondition(got.Conditions, kind)
		if c == nil || c.Status != status || reason != "" && c.Reason != reason {
			return fmt.Errorf("the conditions are %+v", got.Conditions)
		}
		found = *c
		return nil
	})
	return found
}

// AwaitReady waits until an object is ready in its current generation.
func (s *Operator) AwaitReady(name string) {
	s.Helper()
	object := s.New(name, nil)
	localtest.Eventually(s.T, name+" is ready", func(ctx context.Context) error {
		if err := s.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		status := s.StatusOf(name)
		if status.ObservedGeneration != object.GetGeneration() || !meta.IsStatusConditionTrue(status.Conditions, "Ready") {
			return fmt.Errorf("the status is %+v", status.Conditions)
		}
		return nil
	})
}

// Data reads the data of a ConfigMap.
func (s *Operator) Data(name string) map[string]string {
	s.Helper()
	var found corev1.ConfigMap
	s.Must(s.Get(s.Context(), client.ObjectKey{Namespace: s.Namespace, Name: name}, &found))
	return found.Data
}

// EventuallyData waits until the data of a ConfigMap has a value.
func (s *Operator) EventuallyData(name, key, want string) {
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

// Eventually waits until a check returns no error.
func (s *Operator) Eventually(what string, check func(context.Context) error) {
	s.Helper()
	localtest.Eventually(s.T, what, check)
}

// EventuallyGone waits until an object does not exist.
func (s *Operator) EventuallyGone(object client.Object) {
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

// Named returns the metadata of an object in the namespace.
func (s *Operator) Named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.Namespace, Name: name}
}
