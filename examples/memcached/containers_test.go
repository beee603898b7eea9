package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/local"
	"github.com/operon-framework/operon/local/localtest"

	"github.com/operon-framework/operon/examples/memcached/api/v1alpha1"
)

// With real servers, a value that one pod stores through the Service can be read by another pod, and all servers respond.
func TestServersInContainers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := sample(t)
	m.Namespace, m.Spec.Size = w.env.Namespace, 1
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.env.Namespace, Name: "cache"},
		Spec:       corev1.ServiceSpec{Selector: podLabels(m), Ports: []corev1.ServicePort{{Port: port}}},
	}
	for _, object := range []client.Object{m, service} {
		if err := w.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	w.awaitServers(t, m, 1)
	if got := w.say(t, "stores", "set greeting 0 600 5\r\nhello", "cache"); got != "STORED" {
		t.Errorf("to what is stored the Service answers %q", got)
	}
	if got := w.say(t, "reads", "get greeting", "cache."+w.env.Namespace+".svc.cluster.local"); got != "VALUE greeting 0 5\nhello\nEND" {
		t.Errorf("to what is read the Service answers %q", got)
	}
	err := w.Patch(t.Context(), m, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"size":3}}`)))
	if err != nil {
		t.Fatal(err)
	}
	servers := w.awaitServers(t, m, 3)
	if got := w.say(t, "asks", "get greeting\r\nverbosity 1", servers...); strings.Count(got, "OK") != 3 || strings.Count(got, "hello") != 1 {
		t.Errorf("three servers, one of which has the value, answer %q", got)
	}
}

// world is a cluster that runs containers, with a running operator.
type world struct {
	client.Client
	env  *localtest.Env
	pods *kubernetes.Clientset
}

// newWorld skips the test if the machine cannot run containers, or has no packages for their images.
func newWorld(t *testing.T) *world {
	t.Helper()
	if known, err := exec.CommandContext(t.Context(), "apt-cache", "show", "memcached", "busybox-static").Output(); err != nil || len(known) == 0 {
		lacks(t, "apt on this machine, if there is one, does not know the packages memcached and busybox-static")
	}
	options := local.Options{Name: "memcached-" + strings.ToLower(rand.Text()[:6]), Node: local.Container}
	if _, err := local.Up(t.Context(), options); err != nil && strings.Contains(err.Error(), "this machine cannot run a container node") {
		lacks(t, err.Error())
	}
	w := &world{env: localtest.New(t, options)}
	loadImage(t, options.Name)
	w.env.InstallCRDs(t, "config/crd")
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.Client, err = client.New(w.env.Config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	w.pods = kubernetes.NewForConfigOrDie(w.env.Config)
	runOperator(t, w.env)
	return w
}

// loadImage builds the image of the servers from Debian's packages. Like the public image with this name, it contains a
// busybox.
func loadImage(t *testing.T, cluster string) {
	t.Helper()
	load := operonCommand(t.Context(), "image", "from-debian", "memcached", "busybox-static",
		"--without", "perl", "--image", server().Image, "--user", "65532", "--cluster", cluster)
	if said, err := load.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
}

// operonCommand returns a run of operon: of the program next to the one in $OPERON_CLUSTER_BINARY, as `make binaries` writes both, or else of one that
// is built.
func operonCommand(ctx context.Context, args ...string) *exec.Cmd {
	if cluster := os.Getenv("OPERON_CLUSTER_BINARY"); cluster != "" {
		built := filepath.Join(filepath.Dir(cluster), "operon")
		if _, err := os.Stat(built); err == nil {
			return exec.CommandContext(ctx, built, args...)
		}
	}
	build := exec.CommandContext(ctx, "go", append([]string{"run", "./cmd/operon"}, args...)...)
	build.Dir = "../.."
	return build
}

// runOperator runs the operator until the test ends.
func runOperator(t *testing.T, env *localtest.Env) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- operon.Run(ctx, "memcached-operator", env.Config, operon.Config{Namespace: env.Namespace},
			operon.API(v1alpha1.AddToScheme), operon.Manage(Memcached{}))
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the operator ended: %v", err)
		}
	})
}

// awaitServers waits until the Memcached is ready with the wanted number of servers, and returns their addresses.
func (w *world) awaitServers(t *testing.T, m *v1alpha1.Memcached, want int) (addresses []string) {
	t.Helper()
	localtest.Eventually(t, fmt.Sprintf("%d servers", want), func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
			return err
		}
		var pods corev1.PodList
		if err := w.List(ctx, &pods, client.InNamespace(m.Namespace), podLabels(m)); err != nil {
			return err
		}
		addresses = nil
		for _, pod := range pods.Items {
			if len(pod.Status.ContainerStatuses) == 0 || !pod.Status.ContainerStatuses[0].Ready {
				return fmt.Errorf("pod %s is not ready: %+v", pod.Name, pod.Status)
			}
			addresses = append(addresses, pod.Status.PodIP)
		}
		if len(addresses) != want || len(m.Status.Nodes) != want {
			return fmt.Errorf("there are %d pods, and the status is %+v", len(addresses), m.Status)
		}
		return nil
	})
	return addresses
}

// say makes a pod send text to servers, one at a time, and returns their responses. Line ends are converted.
func (w *world) say(t *testing.T, pod, what string, servers ...string) string {
	t.Helper()
	// The name and the rules of the Service follow the readiness of its pods with a delay, so connections are retried.
	script := fmt.Sprintf(`for server in %s; do until printf '%%s\r\nquit\r\n' "$SAYS" | nc -w 20 "$server" %d; do sleep 0.1; done; done`,
		strings.Join(servers, " "), port)
	err := w.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.env.Namespace, Name: pod},
		Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{
			Name: "client", Image: server().Image, Command: []string{"sh", "-c", script}, Env: []corev1.EnvVar{{Name: "SAYS", Value: what}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var answer string
	localtest.Eventually(t, "an answer to pod "+pod, func(ctx context.Context) error {
		found, err := w.pods.CoreV1().Pods(w.env.Namespace).Get(ctx, pod, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if found.Status.Phase != corev1.PodSucceeded {
			return fmt.Errorf("it is %s: %+v", found.Status.Phase, found.Status.ContainerStatuses)
		}
		log, err := w.pods.CoreV1().Pods(w.env.Namespace).GetLogs(pod, &corev1.PodLogOptions{}).DoRaw(ctx)
		answer = strings.TrimSpace(strings.ReplaceAll(string(log), "\r", ""))
		return err
	})
	return answer
}

// lacks skips a test because of a missing feature of the machine. In the gate, which sets OPERON_NO_SKIPS, it fails the test.
func lacks(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("OPERON_NO_SKIPS") != "" {
		t.Fatal(what)
	}
	t.Skip(what)
}
