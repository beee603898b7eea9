package deploy_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/operon-framework/operon/build"
	"github.com/operon-framework/operon/deploy"
	"github.com/operon-framework/operon/image"
	"github.com/operon-framework/operon/image/debian"
	"github.com/operon-framework/operon/local"
	"github.com/operon-framework/operon/local/localtest"
	"github.com/operon-framework/operon/up"
)

// An operator's life in pods that really run: built, deployed, killed while it works, restarted, built anew, and gone
// without a trace while its custom resources were live.
func TestInContainers(t *testing.T) {
	t.Parallel()
	c := newContainers(t)
	before := everything(t, c.env)
	first := c.deploy(t)
	if first.Simulated || first.Replicas != 2 {
		t.Fatalf("%+v", first)
	}
	c.confined(t, first.Image)
	create(t, c.memcacheds(), memcached("cache", 3))
	c.awaitServers(t, 3, "--memory-limit=64")
	c.scaleWhileKilled(t)
	c.restart(t)
	if again := c.deploy(t); again.Image != first.Image || len(again.Created)+len(again.Changed) > 0 {
		t.Errorf("with nothing changed: %+v", again)
	}
	(&fixture{dir: c.dir}).edit(t, "memcached.go", "--memory-limit=64", "--memory-limit=65")
	if changed := c.deploy(t); changed.Image == first.Image || !slices.Equal(changed.Changed, []string{"Deployment " + c.namespace + "/" + c.name}) {
		t.Fatalf("built anew: %+v", changed)
	}
	c.awaitServers(t, 4, "--memory-limit=65")
	out := &output{}
	if _, err := deploy.Undeploy(t.Context(), deploy.UndeployOptions{Target: c.target(out)}); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	asBefore(t, c.env, before)
}

// containers is a cluster of real containers, and a project of its own for it.
type containers struct {
	env             *localtest.Env
	client          kubernetes.Interface
	cluster, dir    string
	name, namespace string
}

// newContainers skips the test where there are no containers, or nothing for them to run.
func newContainers(t *testing.T) *containers {
	t.Helper()
	if known, err := exec.CommandContext(t.Context(), "apt-cache", "show", "memcached").Output(); err != nil || len(known) == 0 {
		t.Skip("apt on this machine, if there is one, knows of no package memcached")
	}
	options := local.Options{Name: "containers-" + strings.ToLower(rand.Text()[:6]), Node: local.Container, TTL: 10 * time.Minute}
	if _, err := local.Up(t.Context(), options); err != nil && strings.Contains(err.Error(), "this machine cannot run a node of real containers") {
		t.Skip(err)
	}
	c := &containers{env: localtest.New(t, options), cluster: options.Name, name: "memcached-operator", namespace: "memcached-operator-system"}
	c.client = kubernetes.NewForConfigOrDie(c.env.Config)
	c.dir = copyOf(t, "../examples/memcached")
	c.loadMemcached(t)
	localtest.Eventually(t, "the node's lease, which it takes after its start", func(ctx context.Context) error {
		_, err := c.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, "container-0", metav1.GetOptions{})
		return err
	})
	t.Cleanup(func() { c.tellWhy(t) })
	return c
}

// copyOf copies an example, which goes on with the Operon of this repository.
func copyOf(t *testing.T, example string) string {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Abs("..")
	if err := errors.Join(err, os.CopyFS(dir, os.DirFS(example))); err != nil {
		t.Fatal(err)
	}
	replace := exec.CommandContext(t.Context(), "go", "mod", "edit", "-replace=github.com/operon-framework/operon="+root)
	replace.Dir = dir
	if said, err := replace.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return dir
}

// loadMemcached makes the image that the example's servers run, of Debian's package.
func (c *containers) loadMemcached(t *testing.T) {
	t.Helper()
	scratch, err := image.NewScratch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer scratch.Close()
	root, err := debian.Unpack(t.Context(), scratch.Folder(), debian.Options{Packages: []string{"memcached"}, Without: []string{"perl"}})
	if err != nil {
		t.Fatal(err)
	}
	made, _, err := scratch.MakeSingle(t.Context(), image.Single{By: "a test", Platform: root.Platform(), Run: v1.Config{User: "65532"}, Files: root.Files})
	if err != nil {
		t.Fatal(err)
	}
	name, err := image.ParseName("memcached:1.6-alpine")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := scratch.Deliver(t.Context(), name, made, image.Delivery{Cluster: c.cluster}); err != nil {
		t.Fatal(err)
	}
}

func (c *containers) target(out *output) deploy.Target {
	return deploy.Target{Dir: c.dir, Where: up.Where{Name: c.cluster}, Progress: out}
}

func (c *containers) deploy(t *testing.T) *deploy.Result {
	t.Helper()
	out := &output{}
	result, err := deploy.Run(t.Context(), deploy.Options{Target: c.target(out), Build: build.Options{By: "test"}})
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return result
}

func (c *containers) memcacheds() dynamic.ResourceInterface {
	return dynamic.NewForConfigOrDie(c.env.Config).Resource(memcachedResource).Namespace(c.env.Namespace)
}

// operators are the operator's pods that are not about to go.
func (c *containers) operators(ctx context.Context) ([]corev1.Pod, error) {
	list, err := c.client.CoreV1().Pods(c.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil }), nil
}

// confined looks at what the operator's processes may: as what user they run, on what files, with what rights.
func (c *containers) confined(t *testing.T, image string) {
	t.Helper()
	pods, err := c.operators(t.Context())
	if err != nil || len(pods) != 2 {
		t.Fatalf("%d pods, %v", len(pods), err)
	}
	for _, pod := range pods {
		spec, status := pod.Spec.Containers[0], pod.Status.ContainerStatuses[0]
		if user := status.User; user == nil || user.Linux == nil || user.Linux.UID != build.User {
			t.Errorf("%s runs as %+v", pod.Name, user)
		}
		if spec.Image != image || spec.ImagePullPolicy != corev1.PullIfNotPresent {
			t.Errorf("%s runs %s, pulled %s; built was %s", pod.Name, spec.Image, spec.ImagePullPolicy, image)
		}
		if !*spec.SecurityContext.ReadOnlyRootFilesystem || *spec.SecurityContext.AllowPrivilegeEscalation {
			t.Errorf("%s: %+v", pod.Name, spec.SecurityContext)
		}
	}
	for resource, want := range map[string]bool{"deployments": true, "secrets": false, "nodes": false} {
		group := map[string]string{"deployments": "apps"}[resource]
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:" + c.namespace + ":" + c.name,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Group: group, Resource: resource},
		}}
		answer, err := c.client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		if err != nil || answer.Status.Allowed != want {
			t.Errorf("may the operator list %s: %+v, %v", resource, answer.Status, err)
		}
	}
}

// awaitServers waits until the Memcached has so many servers with an argument, all ready, and says so.
func (c *containers) awaitServers(t *testing.T, want int32, argument string, gone ...string) {
	t.Helper()
	localtest.Eventually(t, fmt.Sprintf("%d servers with %s", want, argument), func(ctx context.Context) error {
		m, err := c.memcacheds().Get(ctx, "cache", metav1.GetOptions{})
		if err != nil {
			return err
		}
		list, err := c.client.CoreV1().Pods(c.env.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		var names []any
		for _, pod := range list.Items {
			if !slices.Contains(pod.Spec.Containers[0].Args, argument) || !isReady(pod) || slices.Contains(gone, pod.Name) {
				return fmt.Errorf("pod %s is %s with %q", pod.Name, pod.Status.Phase, pod.Spec.Containers[0].Args)
			}
			names = append(names, pod.Name)
		}
		status, _ := m.Object["status"].(map[string]any)
		nodes, _ := status["nodes"].([]any)
		slices.SortFunc(names, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		if len(names) != int(want) || !slices.Equal(nodes, names) {
			return fmt.Errorf("pods are %q, the status is %v", names, status)
		}
		return nil
	})
}

func isReady(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}

// scaleWhileKilled wants a fourth server, while the replica that leads and a server are killed: another replica takes
// over, and does what is to be done.
func (c *containers) scaleWhileKilled(t *testing.T) {
	t.Helper()
	led := c.awaitLeader(t, "")
	servers, err := c.client.CoreV1().Pods(c.env.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	err = errors.Join(
		c.client.CoreV1().Pods(c.namespace).Delete(t.Context(), led, now),
		c.client.CoreV1().Pods(c.env.Namespace).Delete(t.Context(), servers.Items[0].Name, now),
	)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.memcacheds().Patch(t.Context(), "cache", types.MergePatchType, []byte(`{"spec":{"size":4}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	c.awaitServers(t, 4, "--memory-limit=64", servers.Items[0].Name)
	c.awaitLeader(t, led) // a server that was wanted in time may have been the killed one's last act
}

// awaitLeader waits until a pod leads that did not before, and returns it.
func (c *containers) awaitLeader(t *testing.T, before string) (leads string) {
	t.Helper()
	localtest.Eventually(t, "a pod to lead that is not "+strconv.Quote(before), func(ctx context.Context) (err error) {
		if leads, err = c.leader(ctx); err == nil && leads == before {
			err = errors.New("it does still")
		}
		return err
	})
	return leads
}

// leader is the pod that has the star in the logs, and said that it started: one that waits says nothing.
func (c *containers) leader(ctx context.Context) (string, error) {
	said := &output{}
	if err := deploy.Logs(ctx, deploy.LogsOptions{Target: c.target(&output{}), Out: said}); err != nil {
		return "", fmt.Errorf("%w\n%s", err, said)
	}
	for line := range strings.Lines(said.String()) {
		pod, text, starred := strings.Cut(line, "* | ")
		if starred && strings.Contains(text, "operator started") {
			return c.name + "-" + pod, nil
		}
	}
	return "", fmt.Errorf("nobody leads:\n%s", said)
}

// restart has all of the operator's pods be new ones.
func (c *containers) restart(t *testing.T) {
	t.Helper()
	before, err := c.operators(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := &output{}
	if err := deploy.Restart(t.Context(), c.target(out)); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	after, err := c.operators(t.Context())
	if err != nil || len(after) != 2 {
		t.Errorf("%d pods after the restart, %v", len(after), err)
	}
	for _, pod := range after {
		if slices.ContainsFunc(before, func(old corev1.Pod) bool { return old.Name == pod.Name }) {
			t.Errorf("pod %s is of before the restart", pod.Name)
		}
	}
}

// tellWhy shows what went on in the pods of a test that failed.
func (c *containers) tellWhy(t *testing.T) {
	if !t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
	defer cancel()
	said := &output{}
	err := deploy.Logs(ctx, deploy.LogsOptions{Target: c.target(said), Out: said, Tail: 50})
	t.Logf("the operator's log (%v):\n%s", err, said)
}
