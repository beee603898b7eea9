package localtest

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/local"
)

// SharedName is the name of the cluster that tests share.
const SharedName = "test"

// idle is how long a test cluster keeps running without use.
const idle = 10 * time.Minute

// startTimeout limits the start of a cluster, including the first build of its binary.
const startTimeout = 15 * time.Minute

// Env is a cluster and a namespace for one test.
type Env struct {
	// Config is a client configuration with the permissions of an administrator, without throttling.
	Config *rest.Config
	// Namespace is the namespace of this test. It is initially empty.
	Namespace string
	// Kubeconfig is the path of the kubeconfig that Config was read from.
	Kubeconfig string
}

// Shared returns a new namespace on the cluster that all tests share. It fails the test if there is no such
// cluster and it cannot be started. The namespace and everything in it is deleted when the test ends.
func Shared(t testing.TB) *Env {
	t.Helper()
	env := shared.join(t)
	env.makeNamespace(t)
	t.Cleanup(func() { env.removeNamespace(t) })
	return env
}

// shared is the cluster that all tests share, as this process knows it.
var shared common

// common is a cluster that is not queried for each test, because each query starts a process.
type common struct {
	mu    sync.Mutex
	env   *Env
	asked time.Time
}

// fresh is how long a running cluster is assumed to keep running. It is short compared to the time after which an
// unused cluster stops.
const fresh = idle / 10

// join returns an environment whose namespace does not exist yet.
func (c *common) join(t testing.TB) *Env {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.env == nil || time.Since(c.asked) > fresh {
		c.env = start(t, local.Options{Name: SharedName, TTL: idle})
		c.asked = time.Now()
	}
	return &Env{Config: rest.CopyConfig(c.env.Config), Kubeconfig: c.env.Kubeconfig, Namespace: uniqueName(t.Name())}
}

// New starts a cluster for this test alone, and stops it when the test ends. It sets a name and a TTL if options do
// not.
func New(t testing.TB, options local.Options) *Env {
	t.Helper()
	if options.Name == "" {
		options.Name = uniqueName("test")
	}
	if options.TTL == 0 {
		options.TTL = idle
	}
	env := start(t, options)
	env.makeNamespace(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), Patience)
		defer cancel()
		if err := local.Down(ctx, options.Name); err != nil {
			t.Errorf("stop the test's cluster: %v", err)
		}
	})
	return env
}

func start(t testing.TB, options local.Options) *Env {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	options.Progress = os.Stderr
	cluster, err := local.Up(ctx, options)
	if err != nil {
		t.Fatalf("start the cluster for tests: %v", err)
	}
	config, err := cluster.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	return &Env{Config: config, Kubeconfig: cluster.Kubeconfig, Namespace: uniqueName(t.Name())}
}

// uniqueName returns a DNS label that begins like name.
func uniqueName(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(strings.TrimPrefix(name, "Test")))
	if len(clean) > 30 {
		clean = clean[:30]
	}
	return strings.Trim(clean, "-") + "-" + strings.ToLower(rand.Text()[:6])
}
