package sim_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/cluster/internal/sim"
)

func TestStartRefusesAConfigThatCannotWork(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*sim.Config)
		want   string
	}{
		"no client":          {func(c *sim.Config) { c.Client = nil }, "Config.Client is nil"},
		"no certificate":     {func(c *sim.Config) { c.Serving = tls.Certificate{} }, "Config.Serving is empty"},
		"no authority":       {func(c *sim.Config) { c.ClientCA = nil }, "Config.ClientCA is nil"},
		"negative nodes":     {func(c *sim.Config) { c.Nodes = -1 }, "Config.Nodes is -1"},
		"negative heartbeat": {func(c *sim.Config) { c.Heartbeat = -time.Second }, "Config.Heartbeat is -1s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := plane.config
			test.change(&config)
			if _, err := sim.Start(t.Context(), config); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v: want %q in it", err, test.want)
			}
		})
	}
}

func TestStartSaysThatTheAPIServerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.Addr().String()
	closed.Close()
	config := plane.config
	config.Client = &rest.Config{Host: "http://" + address}
	if _, err := sim.Start(t.Context(), config); err == nil || !strings.Contains(err.Error(), "the API server does not answer") {
		t.Errorf("error %v", err)
	}
}

// A simulation that ends leaves no goroutines, and the next one continues from the state of the cluster. The test is not
// parallel: two simulations of one cluster would conflict.
func TestStopAndStartAgain(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	first, err := sim.Start(ctx, plane.config)
	if err != nil {
		t.Fatal(err)
	}
	namespace, other := newNamespace(t), newNamespace(t)
	createPod(t, namespace, nil, podSpec())
	before := awaitPod(t, namespace, "ready", ready)
	address := endpoint(t.Context(), t)
	if goroutines(t) == "" {
		t.Error("no goroutine of a running simulation is found, so the end of all proves nothing")
	}

	cancel()
	first.Wait()
	if connection, err := net.Dial("tcp", address); err == nil {
		connection.Close()
		t.Errorf("%s still listens", address)
	}
	await(t, "end of all goroutines", func(context.Context) (string, error) { return goroutines(t), nil },
		func(running string) bool { return running == "" })

	spec := podSpec()
	spec.NodeName = "node-0"
	createPod(t, other, nil, spec)
	ctx, cancel = context.WithCancel(t.Context())
	second, err := sim.Start(ctx, plane.config)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Wait()
	defer cancel()
	added := awaitPod(t, other, "ready", ready)
	after := awaitPod(t, namespace, "ready", ready)
	if after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the pod was written again: %s", asYAML(after.Status))
	}
	if added.Status.PodIP == after.Status.PodIP {
		t.Errorf("address %s was given twice", after.Status.PodIP)
	}
	if now := endpoint(t.Context(), t); now == address {
		t.Errorf("the node names the endpoint %s of the simulation that ended", now)
	}
}

// goroutines returns the stacks of the goroutines that run code of the package under test, except its tests.
func goroutines(t *testing.T) string {
	t.Helper()
	var stacks bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&stacks, 2); err != nil {
		t.Fatal(err)
	}
	var ours []string
	for stack := range strings.SplitSeq(stacks.String(), "\n\n") {
		if strings.Contains(stack, "operon/cluster/internal/sim.") && !strings.Contains(stack, "testing.tRunner(") {
			ours = append(ours, stack)
		}
	}
	return strings.Join(ours, "\n\n")
}

func TestRestoreBringsBackWhatIsMissing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := sim.Start(ctx, plane.config)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Wait()
	defer cancel()
	err = errors.Join(
		plane.client.StorageV1().StorageClasses().Delete(ctx, sim.StorageClass, metav1.DeleteOptions{}),
		plane.client.CoreV1().Nodes().Delete(ctx, "node-0", metav1.DeleteOptions{}),
	)
	if err == nil {
		_, err = s.Restore(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	awaitNode(t, "node-0", "ready", nodeReady(corev1.ConditionTrue))
	if _, err := plane.client.StorageV1().StorageClasses().Get(ctx, sim.StorageClass, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// A node that a user took out of the simulation does not delay the next start.
func TestStartWithoutANodeOfTheUser(t *testing.T) {
	start(t, plane.config)()
	label := func(value string) {
		t.Helper()
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%s}}}`, sim.NodeLabel, value)
		if _, err := plane.client.CoreV1().Nodes().Patch(t.Context(), "node-0", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	label("null")
	defer label(`"true"`)
	config := plane.config
	config.Nodes = 2
	stop := start(t, config)
	awaitNode(t, "node-1", "ready", nodeReady(corev1.ConditionTrue))
	stop()
	if err := plane.client.CoreV1().Nodes().Delete(t.Context(), "node-1", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// A retained node has the taint only while the cluster has another node that runs containers.
func TestTaintOfARetainedNode(t *testing.T) {
	start(t, plane.config)()
	for _, want := range []bool{true, true, false} {
		config := plane.config
		config.Tainted, config.NoNodes = want, want
		start(t, config)()
		node, err := plane.client.CoreV1().Nodes().Get(t.Context(), "node-0", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == sim.NodeLabel }); got != want {
			t.Errorf("tainted: %v, want %v: %s", got, want, asYAML(node.Spec.Taints))
		}
	}
}

// A start changes only the simulation's own taint, and only on nodes of the simulation: nodes that a user added keep all of their taints.
func TestTaintsOfUsersAreKept(t *testing.T) {
	ours := corev1.Taint{Key: sim.NodeLabel, Value: "true", Effect: corev1.TaintEffectNoSchedule}
	theirs := corev1.Taint{Key: "apart", Effect: corev1.TaintEffectNoSchedule}
	const registered, added = "node-99", "of-a-user" // an earlier simulation with more nodes registered the first one
	taintedNode(t, registered, theirs)
	taintedNode(t, added, theirs, ours)
	for _, want := range []bool{true, false} {
		config := plane.config
		config.Tainted, config.NoNodes = want, want
		start(t, config)()
		for _, expected := range []struct {
			node  string
			taint corev1.Taint
			has   bool
		}{{registered, theirs, true}, {registered, ours, want}, {added, theirs, true}, {added, ours, true}} {
			node, err := plane.client.CoreV1().Nodes().Get(t.Context(), expected.node, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			has := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.MatchTaint(&expected.taint) })
			if has != expected.has {
				t.Errorf("Tainted %t: %s has the taint %s: %t, want %t: %s", want, node.Name, expected.taint.Key, has, expected.has, asYAML(node.Spec.Taints))
			}
		}
	}
}

// taintedNode creates a simulated node with taints.
func taintedNode(t *testing.T, name string, taints ...corev1.Taint) {
	t.Helper()
	nodes := plane.client.CoreV1().Nodes()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: simulated()}, Spec: corev1.NodeSpec{Taints: taints}}
	if _, err := nodes.Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := nodes.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

func TestStartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sim.Start(ctx, plane.config); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v: want %v", err, context.Canceled)
	}
}
