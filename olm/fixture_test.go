package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/local"
	"github.com/operon-framework/operon/local/localtest"

	v1 "github.com/operon-framework/operon/internal/olm/api/v1"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/olm/internal/csv"
	"github.com/operon-framework/operon/olm/internal/require"
)

// world is a cluster with the manager, and a namespace for the operators of one test.
type world struct {
	*testing.T
	*localtest.Env
	client.Client
	// group is the API group of the kinds of the test, because kinds are shared by all tests in a cluster.
	group string
	sent  *requests
	// account is the connection with the permissions of the manager.
	account *rest.Config
	// schema is that of Memcached, if it is not one that preserves all fields.
	schema *apiextensionsv1.JSONSchemaProps
	// more are further files of bundles.
	more map[string]string
	// csvs is the composer of ClusterServiceVersions, if it is not the usual one.
	csvs *csv.Composer
	// denies makes the manager believe that no ServiceAccount has a permission.
	denies atomic.Bool
	// killer kills the managers of the test, if they are killed.
	killer *killer
}

// newWorld returns a namespace in a cluster that tests share. The manager only works there.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, Env: localtest.Shared(t)}
	w.connect()
	w.run(w.Namespace)
	return w
}

// newCluster returns a cluster of its own, for tests with several namespaces.
func newCluster(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, Env: localtest.New(t, local.Options{Nodes: 1})}
	w.connect()
	w.run()
	return w
}

func (w *world) connect() {
	w.Helper()
	w.InstallCRDs(w.T, "config/crd")
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, addToScheme} {
		w.Must(add(scheme))
	}
	var err error
	w.Client, err = client.New(w.Config, client.Options{Scheme: scheme})
	w.Must(err)
	w.group = w.Namespace + ".example.com"
}

// run runs the manager until the test ends, in some namespaces or in all.
func (w *world) run(namespaces ...string) {
	w.Helper()
	w.start(operon.Config{Namespaces: namespaces}, true) // PackageManifests are left out: API servers cannot reach the manager
}

// serve runs the manager where API servers reach it, until the test ends or the returned function is called.
func (w *world) serve(hooks operon.Webhooks, manifests bool) (stop func()) {
	w.Helper()
	return w.start(operon.Config{Webhooks: hooks}, manifests)
}

func (w *world) start(settings operon.Config, manifests bool) (stop func()) {
	w.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context())) // until the cleanup
	w.sent = &requests{}
	if w.csvs == nil {
		w.csvs = &csv.Composer{Clock: clock.RealClock{}}
	}
	config, configured := w.restricted(), options(w.TempDir(), w.csvs, manifests)
	config.Wrap(w.sent.wrap)
	w.csvs.Cluster = &authorizer{w.csvs.Cluster.(*require.Server), &w.denies}
	ready, ended := make(chan struct{}), make(chan error, 1)
	settings.Ready = func() { close(ready) }
	go func() {
		ended <- operon.Run(ctx, "olm", config, settings, configured...)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := localtest.Receive(w.T, "the end of the manager", ended); err != nil {
			w.Errorf("the manager failed: %v", err)
		}
	})
	w.Cleanup(stop)
	w.Cleanup(func() { w.sent.check(w) })
	w.Cleanup(w.clear)
	localtest.Receive(w.T, "the start of the manager", ready)
	return stop
}

// clear deletes what the manager has to remove finalizers from.
func (w *world) clear() {
	ctx := context.WithoutCancel(w.Context())
	for _, kind := range []client.Object{&v1alpha1.Subscription{}, &v1alpha1.InstallPlan{}, &v1alpha1.ClusterServiceVersion{}} {
		w.Must(w.DeleteAllOf(ctx, kind, client.InNamespace(w.Namespace)))
	}
	w.Must(wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, localtest.Patience, true, func(ctx context.Context) (bool, error) {
		var plans v1alpha1.InstallPlanList
		var csvs v1alpha1.ClusterServiceVersionList
		err := errors.Join(w.List(ctx, &plans, client.InNamespace(w.Namespace)), w.List(ctx, &csvs, client.InNamespace(w.Namespace)))
		return err == nil && len(plans.Items)+len(csvs.Items) == 0, nil // a request of a slow machine may fail
	}))
}

// Must fails the test if there is an error.
func (w *world) Must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// Add creates objects.
func (w *world) Add(all ...client.Object) {
	w.Helper()
	for _, object := range all {
		w.Must(w.Create(w.Context(), object))
	}
}

// Await waits until a check of a ClusterServiceVersion holds.
func (w *world) Await(name, what string, check func(*v1alpha1.ClusterServiceVersion) bool) *v1alpha1.ClusterServiceVersion {
	w.Helper()
	csv := &v1alpha1.ClusterServiceVersion{}
	w.eventually(name+": "+what, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, csv); err != nil {
			return err
		}
		if !check(csv) {
			return fmt.Errorf("phase %s, reason %s, message %q, requirements %+v, manager %+v", csv.Status.Phase, csv.Status.Reason, csv.Status.Message, csv.Status.RequirementStatus, csv.Status.Report)
		}
		return nil
	})
	return csv
}

// AwaitPhase waits until a ClusterServiceVersion has a phase, with a reason unless it is empty.
func (w *world) AwaitPhase(name string, phase v1alpha1.Phase, reason string) *v1alpha1.ClusterServiceVersion {
	w.Helper()
	return w.Await(name, fmt.Sprintf("phase %s %s", phase, reason), func(csv *v1alpha1.ClusterServiceVersion) bool {
		return csv.Status.Phase == phase && (reason == "" || csv.Status.Reason == reason)
	})
}

// AwaitGone waits until an object does not exist.
func (w *world) AwaitGone(object client.Object) {
	w.Helper()
	w.eventually("the deletion of "+object.GetName(), func(ctx context.Context) error {
		err := w.Get(ctx, client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it exists, finalizers %v, error %v", object.GetFinalizers(), err)
	})
}

// Named returns the metadata of an object in the namespace of the test.
func (w *world) Named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.Namespace, Name: name}
}

// operatorGroup returns a group of the namespace that selects the namespace itself.
func (w *world) operatorGroup(name string) *v1.OperatorGroup {
	return &v1.OperatorGroup{ObjectMeta: w.Named(name), Spec: v1.OperatorGroupSpec{TargetNamespaces: []string{w.Namespace}}}
}

// csv returns a version of an operator in YAML. $GROUP and $NAMESPACE stand for those of the test.
func (w *world) csv(text string) *v1alpha1.ClusterServiceVersion {
	w.Helper()
	csv := &v1alpha1.ClusterServiceVersion{}
	w.Must(yaml.Unmarshal([]byte(strings.NewReplacer("$GROUP", w.group, "$NAMESPACE", w.Namespace).Replace(text)), csv))
	csv.Namespace = w.Namespace
	return csv
}

// definition returns the CRD of Memcached.
func (w *world) definition() *apiextensionsv1.CustomResourceDefinition {
	schema := w.schema
	if schema == nil {
		schema = &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "memcacheds." + w.group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: w.group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "memcacheds", Kind: "Memcached"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1alpha1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
				OpenAPIV3Schema: schema,
			}}},
		},
	}
}

// requirements returns the objects that the versions of memcached need, apart from the group.
func (w *world) requirements() []client.Object {
	crd := w.definition()
	w.Cleanup(func() { w.Must(client.IgnoreNotFound(w.Delete(context.WithoutCancel(w.Context()), crd))) })
	return []client.Object{
		crd,
		&corev1.ServiceAccount{ObjectMeta: w.Named("memcached-operator")},
		&rbacv1.Role{ObjectMeta: w.Named("memcached-operator"), Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"*"}},
			{APIGroups: []string{w.group}, Resources: []string{"*"}, Verbs: []string{"*"}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: w.Named("memcached-operator"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "memcached-operator"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "memcached-operator", Namespace: w.Namespace}},
		},
	}
}

// memcached is version 0.0.1 of the operator.
const memcached = `
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: memcached-operator.v0.0.1
  annotations: {capabilities: Basic Install}
spec:
  displayName: Memcached
  description: a field that only people read
  version: 0.0.1
  minKubeVersion: 1.20.0
  installModes:
  - {type: OwnNamespace, supported: true}
  - {type: SingleNamespace, supported: true}
  - {type: MultiNamespace, supported: false}
  - {type: AllNamespaces, supported: true}
  customresourcedefinitions:
    owned:
    - {name: memcacheds.$GROUP, version: v1alpha1, kind: Memcached, displayName: Memcached}
  install:
    strategy: deployment
    spec:
      permissions:
      - serviceAccountName: memcached-operator
        rules:
        - {apiGroups: [""], resources: [pods], verbs: ["*"]}
        - {apiGroups: [$GROUP], resources: ["*"], verbs: ["*"]}
      deployments:
      - name: memcached-operator
        spec:
          replicas: 1
          selector: {matchLabels: {name: memcached-operator}}
          template:
            metadata: {labels: {name: memcached-operator}}
            spec:
              serviceAccountName: memcached-operator
              containers:
              - name: operator
                image: memcached-operator:0.0.1
                env:
                - {name: WATCH_NAMESPACE, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['olm.targetNamespaces']"}}}
`

// version returns a version of memcached that replaces an older one.
func version(number, replaces string) string {
	text := strings.ReplaceAll(memcached, "0.0.1", number)
	return strings.Replace(text, "spec:\n", "spec:\n  replaces: memcached-operator.v"+replaces+"\n", 1)
}

// deployment reads a Deployment.
func (w *world) deployment(name string) *appsv1.Deployment {
	w.Helper()
	found := &appsv1.Deployment{}
	w.Must(w.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, found))
	return found
}
