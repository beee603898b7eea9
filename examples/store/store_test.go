package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	k8s "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/api/actions/v1alpha1"
	"github.com/operon-framework/operon/durable/artifactstore"
	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/local/localtest"
	"github.com/operon-framework/operon/operontest"

	storev1 "github.com/operon-framework/operon/examples/store/api/v1alpha1"
	"github.com/operon-framework/operon/examples/store/server"
)

// The child objects of the sample are as expected, without a cluster.
func TestChildren(t *testing.T) {
	t.Parallel()
	operontest.New(Store{}, storev1.AddToScheme).CRDs("config/crd").
		Golden(t, operontest.Sample[*storev1.Store](t, "config/samples/store.yaml"), "testdata/children.yaml")
}

// The CRDs of Actions are equal to the CRDs of the framework.
func TestDefinitionsOfActions(t *testing.T) {
	t.Parallel()
	for _, crd := range v1alpha1.CRDs() {
		name := fmt.Sprintf("actions.operon.dev_%s.yaml", strings.TrimSuffix(crd.GetName(), ".actions.operon.dev"))
		ours, err := os.ReadFile(filepath.Join("config/crd", name))
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := os.ReadFile(filepath.Join("../../api/actions/v1alpha1/crd", name))
		if err != nil || string(ours) != string(theirs) {
			t.Errorf("%s is not that of the framework: copy it again (%v)", name, err)
		}
	}
}

// shop is a namespace of a real cluster with a Store, whose server runs in this process, because the pods of simulated nodes
// run no containers.
type shop struct {
	*testing.T
	*localtest.Env
	api     k8s.Client
	backups string
}

func newShop(t *testing.T) *shop {
	t.Helper()
	env := localtest.Shared(t)
	env.InstallCRDs(t, "config/crd")
	scheme := runtime.NewScheme()
	s := &shop{T: t, Env: env, backups: t.TempDir()}
	for _, add := range []func(*runtime.Scheme) error{storev1.AddToScheme, v1alpha1.AddToScheme} {
		s.must(add(scheme))
	}
	var err error
	s.api, err = k8s.New(env.Config, k8s.Options{Scheme: scheme})
	s.must(err)
	return s
}

func (s *shop) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// serveAt runs an empty server at an address, until stop is called.
func serveAt(t *testing.T, address string) (listening string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, listener)
}

// serveOn is serveAt for an existing listener.
func serveOn(t *testing.T, listener net.Listener) (listening string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.New().Serve(ctx, listener) }()
	stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		ended <- nil
	}
	t.Cleanup(stop)
	return listener.Addr().String(), stop
}

// open creates a Store.
func (s *shop) open(name string) *storev1.Store {
	s.Helper()
	store := operontest.Sample[*storev1.Store](s.T, "config/samples/store.yaml")
	store.Namespace, store.Name = s.Namespace, name
	s.must(s.api.Create(s.Context(), store))
	return store
}

// act creates an Action on a Store.
func (s *shop) act(store *storev1.Store, name, action, from string) *v1alpha1.Action {
	s.Helper()
	a := &v1alpha1.Action{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.Namespace},
		Spec: v1alpha1.ActionSpec{
			Target: v1alpha1.Target{APIGroup: storev1.GroupVersion.Group, Kind: "Store", Name: store.Name},
			Action: action, ArtifactsFrom: from,
		},
	}
	s.must(s.api.Create(s.Context(), a))
	return a
}

// over waits until an Action has the given phase.
func (s *shop) over(a *v1alpha1.Action, phase journal.Phase) {
	s.Helper()
	localtest.Eventually(s.T, fmt.Sprintf("%s to be %s", a.Name, phase), func(ctx context.Context) error {
		if err := s.api.Get(ctx, k8s.ObjectKeyFromObject(a), a); err != nil {
			return err
		}
		if a.Status.Journal == nil || a.Status.Journal.Phase != phase {
			return fmt.Errorf("it is %+v, %+v", a.Status.Journal, a.Status.Conditions)
		}
		return nil
	})
}

// speaking connects to the room of a Store in the server at an address.
func (s *shop) speaking(address string, store *storev1.Store) *client {
	s.Helper()
	c, err := Store{Address: address}.dial(s.Context(), store)
	s.must(err)
	s.Cleanup(c.close)
	return c
}

var goods = map[string]string{"apple": "3", "pear": "a dozen of them", "plum": ""}

// fill sets values.
func fill(t *testing.T, c *client, values map[string]string) {
	t.Helper()
	for key, value := range values {
		if err := c.tell("STORED", "set %s %s", key, value); err != nil {
			t.Fatal(err)
		}
	}
}

// holds checks that a server contains exactly the given values.
func holds(c *client, want map[string]string) error {
	got, err := c.dump()
	if err == nil && !maps.Equal(got, want) {
		err = fmt.Errorf("the store holds %q, want %q", got, want)
	}
	return err
}

// A Store is backed up, loses all values, and is restored.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	s.must(err)
	held, err := listener.(*net.TCPListener).File() // reserves the address while no server is running
	s.must(err)
	defer held.Close()
	address, stop := serveOn(t, listener)
	s.run(address)
	store, other := s.open("main"), s.open("other")
	c := s.speaking(address, store)
	fill(t, c, goods)
	fill(t, s.speaking(address, other), map[string]string{"apple": "of the other"})

	backup := s.act(store, "backup", "backup", "")
	s.over(backup, journal.Succeeded)
	fill(t, c, map[string]string{"late": "after the backup"}) // it is not paused any more
	c.close()
	stop()
	again, err := net.FileListener(held)
	s.must(err)
	serveOn(t, again)
	c = s.speaking(address, store)
	s.must(holds(c, map[string]string{}))

	s.over(s.act(store, "restore", "restore", "backup"), journal.Succeeded)
	s.must(holds(c, goods))
	s.must(holds(s.speaking(address, other), map[string]string{}))

	file := filepath.Join(s.backups, backup.Status.Journal.Artifacts[artifactFile])
	s.must(os.WriteFile(file, []byte(`{"apple":"30"}`), 0o600))
	s.over(s.act(store, "restore-damaged", "restore", "backup"), journal.Failed)
	s.must(holds(c, goods))
}

// run runs the operator in this process, until the test ends or stop is called.
func (s *shop) run(address string) (stop func()) {
	s.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- runOperator(ctx, s.Config, s.Namespace, s.backups, address) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			s.Error(err)
		}
	})
	s.Cleanup(stop)
	return stop
}

func runOperator(ctx context.Context, config *rest.Config, namespace, backups, address string) error {
	return operon.Run(ctx, "store-operator", config, operon.Config{Namespace: namespace},
		operon.API(storev1.AddToScheme), operon.Manage(Store{Backups: artifactstore.Directory(backups), Address: address}))
}

func keyOf(object k8s.Object) k8s.ObjectKey { return k8s.ObjectKeyFromObject(object) }
