package localtest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/operon-framework/operon/local"
	"github.com/operon-framework/operon/local/localtest"
)

func TestSharedGivesEachTestItsOwnNamespace(t *testing.T) {
	t.Parallel()
	one, two := localtest.Shared(t), localtest.Shared(t)
	if one.Namespace == two.Namespace {
		t.Fatalf("both got %s", one.Namespace)
	}
	if one.Config.Host != two.Config.Host {
		t.Errorf("not shared: %s and %s", one.Config.Host, two.Config.Host)
	}
}

func TestSharedRemovesItsNamespaceWithAllInIt(t *testing.T) {
	t.Parallel()
	var env *localtest.Env
	t.Run("a test", func(t *testing.T) {
		env = localtest.Shared(t)
		runPod(t, env)
	})
	client := kubernetes.NewForConfigOrDie(env.Config)
	_, err := client.CoreV1().Namespaces().Get(t.Context(), env.Namespace, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("namespace %s after its test: %v", env.Namespace, err)
	}
}

// runPod runs a pod until it is ready, which requires controllers, a scheduler and a node.
func runPod(t *testing.T, env *localtest.Env) {
	t.Helper()
	pods := kubernetes.NewForConfigOrDie(env.Config).CoreV1().Pods(env.Namespace)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "one"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/any:1"}}},
	}
	localtest.Eventually(t, "the namespace's ServiceAccount", func(ctx context.Context) error {
		_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
	localtest.Eventually(t, "the pod to run", func(ctx context.Context) error {
		got, err := pods.Get(ctx, "one", metav1.GetOptions{})
		if err == nil && got.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("phase %s", got.Status.Phase)
		}
		return err
	})
}

func TestNewIsAClusterOfItsOwn(t *testing.T) {
	t.Parallel()
	shared := localtest.Shared(t)
	name := "own-" + shared.Namespace[len(shared.Namespace)-6:]
	t.Run("a test", func(t *testing.T) {
		env := localtest.New(t, local.Options{Name: name, Nodes: 2})
		if env.Config.Host == shared.Config.Host {
			t.Errorf("the shared cluster at %s", env.Config.Host)
		}
		nodes, err := kubernetes.NewForConfigOrDie(env.Config).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil || len(nodes.Items) != 2 {
			t.Errorf("%d nodes, %v", len(nodes.Items), err)
		}
	})
	if _, err := local.Status(t.Context(), name); err == nil {
		t.Errorf("cluster %s is there after its test", name)
	}
}

func TestInstallCRDsReturnsWhenTheyAreServed(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	env.InstallCRDs(t, "testdata/widgets.yaml")
	widgets := schema.GroupVersionResource{Group: "localtest.operon.dev", Version: "v1", Resource: "widgets"}
	if _, err := dynamic.NewForConfigOrDie(env.Config).Resource(widgets).Namespace(env.Namespace).List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
}

func TestWaitersTellWhatTheyWaitedFor(t *testing.T) {
	t.Parallel()
	never := func(context.Context) error { return errors.New("no moon") }
	if got := failure(t, func(t testing.TB) { localtest.Within(t, 50*time.Millisecond, "the moon", never) }); got != "waited 50ms for the moon: no moon" {
		t.Errorf("Within: %q", got)
	}
	if got := failure(t, func(t testing.TB) { localtest.Always(t, time.Minute, "the tide", never) }); got != "the tide did not hold: no moon" {
		t.Errorf("Always: %q", got)
	}
}

// Not parallel: it sets an environment variable of the process.
func TestPatienceIsSetFromOutside(t *testing.T) {
	for said, want := range map[string]string{
		"50ms": "waited 50ms for the moon: no moon",
		"soon": `OPERON_TEST_PATIENCE is "soon": want a time such as 10m`,
		"-1s":  `OPERON_TEST_PATIENCE is "-1s": want a time such as 10m`,
	} {
		t.Setenv("OPERON_TEST_PATIENCE", said)
		never := func(context.Context) error { return errors.New("no moon") }
		if got := failure(t, func(t testing.TB) { localtest.Eventually(t, "the moon", never) }); got != want {
			t.Errorf("%s: %q, want %q", said, got, want)
		}
	}
}

// failure runs f with a fake TB, and returns the message with which f fails it.
func failure(t *testing.T, f func(testing.TB)) string {
	fake := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		f(fake)
	}()
	<-done
	return fake.message
}

// recorder is a TB that records its fatal message.
type recorder struct {
	testing.TB
	message string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.message = fmt.Sprintf(format, args...)
	panic(r.message)
}
