package sim_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/cluster/controlplane"
	"github.com/operon-framework/operon/cluster/pki"
	"github.com/operon-framework/operon/cluster/sim"
)

// plane is the control plane that all tests share: a process can hold only one.
var plane struct {
	client kubernetes.Interface
	config sim.Config
	admin  *rest.Config
	dir    string
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
	cp, err := controlplane.Start(ctx, controlplane.Config{Dir: dir})
	if err != nil {
		cancel()
		return 0, err
	}
	defer cp.Wait()
	defer cancel()
	if err := describe(cp, dir); err != nil {
		return 0, err
	}
	defer stopShared()
	return run(), nil
}

// describe fills plane.
func describe(cp *controlplane.ControlPlane, dir string) error {
	plane.dir = dir
	if err := cp.WriteKubeconfig(filepath.Join(dir, "kubeconfig"), "test"); err != nil {
		return err
	}
	plane.admin = cp.AdminConfig()
	plane.admin.QPS = -1
	var err error
	if plane.client, err = kubernetes.NewForConfig(plane.admin); err != nil {
		return err
	}
	var pair pki.Pair
	if pair.Cert, err = os.ReadFile(filepath.Join(dir, "pki", "ca.crt")); err != nil {
		return err
	}
	if pair.Key, err = os.ReadFile(filepath.Join(dir, "pki", "ca.key")); err != nil {
		return err
	}
	ca, err := pki.ParseAuthority(pair)
	if err != nil {
		return err
	}
	leaf, err := ca.Issue(pki.Leaf{CommonName: "simulated nodes", Hosts: []string{"127.0.0.1"}})
	if err != nil {
		return err
	}
	serving, err := leaf.TLS()
	plane.config = sim.Config{
		Client: plane.admin, Nodes: 2, Serving: serving, ClientCA: ca.Pool(),
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	return err
}

// shared is the simulation that parallel tests share. Tests that start their own are not
// parallel, and so have ended before it starts.
var shared struct {
	once sync.Once
	stop func()
	err  error
}

// simulate returns a client of the control plane, with simulated nodes.
func simulate(t *testing.T) kubernetes.Interface {
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

// newNamespace makes a namespace for the test and deletes it afterwards.
func newNamespace(t *testing.T) string {
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
	awaitObject(t, "the default ServiceAccount", func(ctx context.Context) (*corev1.ServiceAccount, error) {
		return plane.client.CoreV1().ServiceAccounts(namespace.Name).Get(ctx, "default", metav1.GetOptions{})
	}, func(*corev1.ServiceAccount) bool { return true })
	return namespace.Name
}

// patience is how long tests wait for what should take milliseconds.
const patience = 30 * time.Second

// awaitObject asks get until want holds, and returns the object.
func awaitObject[T any](t *testing.T, what string, get func(context.Context) (T, error), want func(T) bool) T {
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
			t.Fatalf("%s: not within %v; last seen: %s, %v", what, patience, brief(got), err)
		case <-ticker.C:
		}
	}
}

func brief(got any) string {
	return strings.TrimSpace(fmt.Sprintf("%.3000v", got))
}
