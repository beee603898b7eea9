package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/operon-framework/operon/internal/ship/build"
	"github.com/operon-framework/operon/internal/ship/deploy"
	"github.com/operon-framework/operon/local/localtest"
)

// testLife covers an operator's whole life: it is built, deployed, killed while it works, restarted, deployed again, and
// removed while its custom resources exist.
func testLife(t *testing.T, in *containers) {
	c := &life{in.project(t, copyOf(t, "../../../examples/memcached"), "memcached-operator")}
	first, said := c.deploy(t, nil)
	if first.Simulated || first.Replicas != 2 || lacks(said, "loading "+first.Image) != nil {
		t.Fatalf("%+v\n%s", first, said)
	}
	c.confined(t, first.Image)
	create(t, c.memcacheds(), memcached("cache", 3))
	c.awaitServers(t, 3)
	c.scaleWhileKilled(t)
	c.restart(t)
	again, said := c.deploy(t, nil)
	if again.Image != first.Image || len(again.Created)+len(again.Changed) > 0 {
		t.Errorf("with nothing changed: %+v", again)
	}
	if missing := lacks(said, "have "+first.Image+" already"); missing != nil || strings.Contains(said, "loading") {
		t.Errorf("what the node has is loaded again: %v\n%s", missing, said)
	}
	c.undeploy(t)
}

// life is the deployment of the example memcached.
type life struct{ *installed }

func (c *life) memcacheds() dynamic.ResourceInterface {
	return c.objects(memcachedResource, c.env.Namespace)
}

// confined checks the permissions of the operator's processes: their user, files and capabilities.
func (c *life) confined(t *testing.T, image string) {
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
	c.may(t, "apps", "deployments", "", true)
	c.may(t, "", "secrets", "", false)
	c.may(t, "", "nodes", "", false)
}

// awaitServers waits until the Memcached has the given number of servers, all ready, and its status lists them.
func (c *life) awaitServers(t *testing.T, want int32, gone ...string) {
	t.Helper()
	localtest.Eventually(t, fmt.Sprintf("%d servers", want), func(ctx context.Context) error {
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
			if !isReady(pod) || slices.Contains(gone, pod.Name) {
				return fmt.Errorf("pod %s is %s", pod.Name, pod.Status.Phase)
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

// scaleWhileKilled requests a fourth server while the leader and a server are killed: another replica becomes the leader and
// completes the work.
func (c *life) scaleWhileKilled(t *testing.T) {
	t.Helper()
	led := c.awaitLeader(t, "")
	servers, err := c.client.CoreV1().Pods(c.env.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	err = errors.Join(
		c.client.CoreV1().Pods(c.namespace()).Delete(t.Context(), led, now),
		c.client.CoreV1().Pods(c.env.Namespace).Delete(t.Context(), servers.Items[0].Name, now),
	)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.memcacheds().Patch(t.Context(), "cache", types.MergePatchType, []byte(`{"spec":{"size":4}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	c.awaitServers(t, 4, servers.Items[0].Name)
	c.awaitLeader(t, led) // the killed replica may have created the server just in time
}

// awaitLeader waits until another pod is the leader, and returns it.
func (c *life) awaitLeader(t *testing.T, before string) (leads string) {
	t.Helper()
	localtest.Eventually(t, "a pod to lead that is not "+strconv.Quote(before), func(ctx context.Context) (err error) {
		if leads, err = c.leader(ctx); err == nil && leads == before {
			err = errors.New("it does still")
		}
		return err
	})
	return leads
}

// leader returns the pod that has a star in the logs and has logged its start: a pod that waits logs nothing.
func (c *life) leader(ctx context.Context) (string, error) {
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

// restart replaces all of the operator's pods.
func (c *life) restart(t *testing.T) {
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
