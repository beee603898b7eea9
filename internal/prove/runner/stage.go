package runner

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/prove/clusterwatch"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/project"
)

// Manager is the field manager of everything that a workload writes.
const Manager = "operon-prove"

// Label marks what a session puts into a cluster beside its workloads, with the session's name.
const Label = "operon.dev/prove"

// Settings of a session.
type Settings struct {
	// Config is an administrator's connection to the cluster.
	Config *rest.Config
	// Witness watches that cluster.
	Witness *clusterwatch.Witness
	// Operator is what is tested.
	Operator Operator
	// Setup are objects that every world has before the operator starts.
	Setup []*unstructured.Unstructured
	// Grants are what the operator may do. Nil: whatever an administrator may.
	Grants []project.Grant
	// Namespace is one that the operator insists on. Worlds follow one another then. Empty: each world
	// has a namespace of its own.
	Namespace string
	// Disposable: the cluster is thrown away after the session, so that nothing need be removed
	// from it before.
	Disposable bool
	// Turns bounds how many worlds there are at once, those of other sessions among them. Nil: nobody
	// does.
	Turns Turns
	// Folder takes files of the operators, for this user alone.
	Folder string
}

// Stage is a cluster on which a session's plans are executed, any number at once.
type Stage struct {
	Settings
	session  string
	cluster  *kube.Client
	identity *rest.Config
	worlds   atomic.Int64
	alone    sync.Mutex // held by the world that has the Namespace

	cleaning sync.WaitGroup
	mu       sync.Mutex
	problems []error
}

// Open prepares a session: who the operator is, and what it may do. The kinds it needs have to be
// there. Close ends it.
func Open(ctx context.Context, settings Settings) (*Stage, error) {
	config := rest.CopyConfig(settings.Config)
	config.QPS, config.Burst = -1, 0
	settings.Config = config
	s := &Stage{Settings: settings, session: strings.ToLower(rand.Text()[:6])}
	var err error
	if s.cluster, err = kube.New(settings.Config, Manager); err != nil {
		return nil, err
	}
	if s.identity, err = s.grant(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Close removes what the session put into the cluster, unless that is thrown away.
func (s *Stage) Close(ctx context.Context) error {
	s.cleaning.Wait()
	if !s.Disposable {
		s.failed(s.revoke(ctx))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.problems) == 0 {
		return nil
	}
	return fmt.Errorf("clean up after the test: %w", s.problems[0])
}

func (s *Stage) failed(err error) {
	if err == nil || apierrors.IsNotFound(err) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, err)
}

// resource finds the API of an object, and the namespace that it belongs into.
func (s *Stage) resource(kind schema.GroupVersionKind, namespace, world string) (dynamic.ResourceInterface, *meta.RESTMapping, error) {
	mapping, err := s.cluster.Mapping(kind)
	if err != nil {
		return nil, nil, err
	}
	objects := s.cluster.Dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return objects, mapping, nil
	}
	if namespace == "" {
		namespace = world
	}
	return objects.Namespace(namespace), mapping, nil
}

// Serves returns an error that names the first kind of some objects that the cluster does not have.
func (s *Stage) Serves(objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		kind := object.GroupVersionKind()
		_, err := s.cluster.Mapping(kind)
		if meta.IsNoMatchError(err) {
			return fmt.Errorf("unknown kind %s in %s of the object %s: its CRD is missing", kind.Kind, object.GetAPIVersion(), object.GetName())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// apply applies an object, in the world's namespace unless it names another one.
func (s *Stage) apply(ctx context.Context, object *unstructured.Unstructured, world string) (deed, error) {
	object = object.DeepCopy()
	if err := s.cluster.Place(object, world); err != nil {
		return deed{}, err
	}
	mapping, err := s.cluster.Mapping(object.GroupVersionKind())
	if err != nil {
		return deed{}, err
	}
	applied, err := s.cluster.Apply(ctx, object)
	if err != nil {
		return deed{}, err
	}
	return deedOf(mapping.Resource, applied), nil
}

// folder makes a folder for an instance.
func (s *Stage) folder(name string) (string, error) {
	path := filepath.Join(s.Folder, name)
	return path, os.MkdirAll(path, 0o700)
}

// name is that of the next world. All are of one length, so that what is cut off is the same.
func (s *Stage) name() string {
	if s.Namespace != "" {
		return s.Namespace
	}
	return fmt.Sprintf("prove-%s-%04d", s.session, s.worlds.Add(1))
}

// Turns are given to runs, so that no more are under way at once than a machine can bear.
type Turns chan struct{}

// NewTurns returns turns for n runs at once.
func NewTurns(n int) Turns { return make(Turns, n) }

// take waits for a turn. The function gives it back.
func (t Turns) take(ctx context.Context) (back func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
