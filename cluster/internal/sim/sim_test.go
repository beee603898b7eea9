package sim_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
	"github.com/operon-framework/operon/cluster/internal/sim"
)

// plane is the control plane that all tests share: a process can run only one.
var plane struct {
	client kubernetes.Interface
	config sim.Config
	admin  *rest.Config
}

func TestMain(m *testing.M) {
	code, err := withControlPlane(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func withControlPlane(run func() int) (int, error) {
	dir, err := os.MkdirTemp("", "operon-sim-test-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	cp, err := controlplane.Start(ctx, controlplane.Config{
		Dir: dir,
		// Lost nodes are tainted at this rate per second. The default is one in ten seconds.
		ControllerManager: controlplane.Settings{"node-eviction-rate": "100"},
	})
	if err != nil {
		cancel()
		return 0, err
	}
	defer cp.Wait()
	defer cancel()
	if err := describe(cp); err != nil {
		return 0, err
	}
	defer stopShared()
	return run(), nil
}

// describe fills plane.
func describe(cp *controlplane.ControlPlane) error {
	serving, err := cp.Serving("simulated-node", "127.0.0.1")
	if err != nil {
		return err
	}
	plane.admin = cp.AdminConfig()
	plane.config = sim.Config{
		Client: plane.admin, Serving: serving, ClientCA: cp.Authorities(),
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	plane.client, err = kubernetes.NewForConfig(plane.admin)
	return err
}

// shared is the simulation that parallel tests share. Tests that start their own simulation are not parallel, so they have
// ended before it starts.
var shared struct {
	once sync.Once
	stop func()
	err  error
}

// simulate returns a client of the control plane. It starts the shared simulation of nodes.
func simulate(t testing.TB) kubernetes.Interface {
	t.Helper()
	shared.once.Do(func() {
		ctx, cancel := context.WithCancel(context.Background())
		s, err := sim.Start(ctx, plane.config)
		if shared.err = err; err != nil {
			cancel()
			return
		}
		shared.stop = func() {
			cancel()
			s.Wait()
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return plane.client
}

func stopShared() {
	if shared.stop != nil {
		shared.stop()
	}
}

// start starts a simulation of its own for a test that is not parallel: two simulations of one cluster would conflict.
func start(t *testing.T, config sim.Config) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	s, err := sim.Start(ctx, config)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	return func() {
		cancel()
		s.Wait()
	}
}

// newNamespace creates a namespace for the test and deletes it afterwards.
func newNamespace(t testing.TB) string {
	t.Helper()
	namespace, err := plane.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := plane.client.CoreV1().Namespaces().Delete(context.Background(), namespace.Name, metav1.DeleteOptions{})
		if err != nil {
			t.Error(err)
		}
	})
	await(t, "default ServiceAccount", func(ctx context.Context) (*corev1.ServiceAccount, error) {
		return plane.client.CoreV1().ServiceAccounts(namespace.Name).Get(ctx, "default", metav1.GetOptions{})
	}, func(*corev1.ServiceAccount) bool { return true })
	return namespace.Name
}

// patience is how long tests wait for effects that usually take milliseconds, on a machine that is busy with other tests.
const patience = 3 * time.Minute

// await calls get until want holds for the result, and returns the result.
func await[T any](t testing.TB, what string, get func(context.Context) (T, error), want func(T) bool) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		got, err := get(ctx)
		if err == nil && want(got) {
			return got
		}
		select {
		case <-ctx.Done():
			t.Fatalf("no %s within %v; last seen: %s, error: %v", what, patience, asYAML(got), err)
		case <-ticker.C:
		}
	}
}

// awaitGone waits until get returns a not-found error.
func awaitGone[T any](t testing.TB, what string, get func(context.Context) (T, error)) {
	t.Helper()
	await(t, "absence of "+what, func(ctx context.Context) (error, error) {
		_, err := get(ctx)
		return err, nil
	}, apierrors.IsNotFound)
}

// awaitEvent waits for an event with the given reason about the named object, and returns its message.
func awaitEvent(t testing.TB, namespace, name, reason string) string {
	t.Helper()
	events := await(t, "event "+reason+" about "+name, func(ctx context.Context) (*corev1.EventList, error) {
		return plane.client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{
			FieldSelector: fields.Set{"involvedObject.name": name, "reason": reason}.String(),
		})
	}, func(list *corev1.EventList) bool { return len(list.Items) > 0 })
	return events.Items[0].Message
}

func asYAML(value any) string {
	data, err := yaml.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return "\n" + string(data)
}
