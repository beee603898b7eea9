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
	"github.com/operon-framework/operon/internal/prove/patient"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/project"
)

// Manager is the field manager of all objects that a workload writes.
const Manager = "operon-prove"

// Label marks the objects that a session creates in a cluster besides its workloads. Its value is the session's name.
const Label = "operon.dev/prove"

// Settings contains the settings of a session.
type Settings struct {
	// Config is the config of an administrator of the cluster.
	Config *rest.Config
	// Witness watches that cluster.
	Witness *clusterwatch.Witness
	// Operator is the operator under test.
	Operator Operator
	// Setup contains objects that exist in every world before the operator starts.
	Setup []*unstructured.Unstructured
	// Grants contains the operator's permissions. Nil means the permissions of an administrator.
	Grants []project.Grant
	// Namespace is set if the operator requires a certain namespace. Worlds run one after another then. If it is empty, each
	// world has its own namespace.
	Namespace string
	// Disposable means that the cluster is deleted after the session, so that the session does not have to
	// clean it up.
	Disposable bool
	// Turns limits the number of concurrent worlds, including worlds of other sessions. Nil means no
	// limit.
	Turns Turns
	// Folder is the directory for files of the operators. Only this user can access it.
	Folder string
}

// Stage is a cluster on which a session's plans are executed, any number of them concurrently.
type Stage struct {
	Settings
	session  string
	raw      *rest.Config // without patience, because what the operator does after an error is part of the test
	inside   *rest.Config // for requests for whose response the operator has to wait
	cluster  *kube.Client
	identity *rest.Config
	worlds   atomic.Int64
	alone    sync.Mutex  // held by the world that uses Namespace
	hopeless atomic.Bool // repeated runs miss changes, too

	cleaning sync.WaitGroup
	mu       sync.Mutex
	problems []error
}

// Open prepares a session: the identity and the permissions of the operator. The kinds that it needs must
// exist. Close ends the session.
func Open(ctx context.Context, settings Settings) (*Stage, error) {
	config := rest.CopyConfig(settings.Config)
	config.QPS, config.Burst = -1, 0
	settings.Config = patient.Config(config, patient.Session)
	s := &Stage{Settings: settings, raw: config, inside: patient.Config(config, patient.Inside), session: strings.ToLower(rand.Text()[:6])}
	var err error
	if s.cluster, err = kube.New(settings.Config, Manager); err != nil {
		return nil, err
	}
	if s.identity, err = s.grant(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Close removes the objects of the session from the cluster, unless the cluster is disposable.
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

// resource returns the client and the mapping for objects of a kind. A namespaced object without a namespace is in the
// world's namespace.
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

// Serves returns an error that names the first kind among the objects that the cluster does not have.
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

// apply applies an object, in the world's namespace unless the object names another one.
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

// folder creates a directory for an instance.
func (s *Stage) folder(name string) (string, error) {
	path := filepath.Join(s.Folder, name)
	return path, os.MkdirAll(path, 0o700)
}

// name returns the name of the next world. All names have the same length, so that truncated names lose the same part.
func (s *Stage) name() string {
	if s.Namespace != "" {
		return s.Namespace
	}
	return fmt.Sprintf("prove-%s-%04d", s.session, s.worlds.Add(1))
}

// Turns limits the number of concurrent runs to the number that a machine can execute.
type Turns chan struct{}

// NewTurns returns turns for n runs at once.
func NewTurns(n int) Turns { return make(Turns, n) }

// take waits for a turn. The returned function gives it back.
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
