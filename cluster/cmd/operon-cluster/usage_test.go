package main

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// patience is how long what follows by itself may take on a machine that is busy with other tests, or what
// $OPERON_TEST_PATIENCE says (10m) for one that is much slower. kubectl wait is told it by within.
var (
	patience = cmp.Or(asDuration(os.Getenv("OPERON_TEST_PATIENCE")), 3*time.Minute)
	within   = "--timeout=" + patience.String()
)

func asDuration(text string) time.Duration {
	duration, err := time.ParseDuration(text)
	if err != nil && text != "" {
		panic(err) // it quotes the text
	}
	return duration
}

// await repeats a call of kubectl until it prints what is wanted, with single spaces between
// columns.
func (h *home) await(what string, want func(string) bool, args ...string) {
	h.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		r := h.run(append([]string{"kubectl"}, args...)...) // a process each time, which is pause enough
		if want(squeezed(r.stdout)) {
			return
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("%q: waited in vain until %s: %+v", args, what, r)
		}
	}
}

// succeeds runs a kubectl command until it succeeds.
func (h *home) succeeds(args ...string) {
	h.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		r := h.run(append([]string{"kubectl"}, args...)...)
		if r.code == 0 {
			return
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("%q never succeeds: %+v", args, r)
		}
	}
}

func squeezed(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

// shows wants all of the parts.
func shows(parts ...string) func(string) bool {
	return func(text string) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
	}
}

// showsWithout wants the one and not the other: an answer that is empty tells nothing.
func showsWithout(one, other string) func(string) bool {
	return func(text string) bool { return strings.Contains(text, one) && !strings.Contains(text, other) }
}

// is wants one line.
func is(line string) func(string) bool {
	return func(text string) bool { return text == line }
}

// scaled are two Deployments and what scales them: by a share of the requests of a pod, and
// by an amount of one container.
const scaled = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: load}
spec:
  selector: {matchLabels: {app: load}}
  template:
    metadata: {labels: {app: load}}
    spec:
      containers:
      - name: app
        image: app:1
        resources: {requests: {cpu: 100m}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: load}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: load}
  maxReplicas: 4
  behavior: {scaleDown: {stabilizationWindowSeconds: 0}}
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cache}
spec:
  selector: {matchLabels: {app: cache}}
  template:
    metadata: {labels: {app: cache}}
    spec:
      containers: [{name: app, image: app:1}, {name: log, image: app:1}]
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: cache}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: cache}
  maxReplicas: 4
  behavior: {scaleDown: {stabilizationWindowSeconds: 0}}
  metrics:
  - type: ContainerResource
    containerResource: {name: memory, container: app, target: {type: AverageValue, averageValue: 100Mi}}
---
`

// apart is a simulated node that only takes what names it, with a pod that does; and a pod that
// does not start.
const apart = `
apiVersion: v1
kind: Node
metadata: {name: apart, labels: {sim.operon.dev/node: "true", is: apart}}
spec: {taints: [{key: apart, effect: NoSchedule}]}
---
apiVersion: v1
kind: Pod
metadata: {name: there, annotations: {sim.operon.dev/usage-cpu: 300m}}
spec:
  nodeName: apart
  containers: [{name: app, image: app:1}]
---
apiVersion: v1
kind: Pod
metadata: {name: late, annotations: {sim.operon.dev/start-after: 1h}}
spec:
  containers: [{name: app, image: app:1}]
---
`

// What simulated pods use is what their annotations tell: kubectl top shows it, and
// autoscalers scale by it.
func TestUsageOnSimulatedNodes(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.up()
	h.apply(scaled + apart)
	h.must("kubectl", "wait", "deployment/load", "deployment/cache", "--for=condition=Available", within)
	h.must("kubectl", "annotate", "pods", "-l", "app=load", "sim.operon.dev/usage-cpu=900m")
	h.must("kubectl", "annotate", "pods", "-l", "app=cache", "sim.operon.dev/usage-memory=app=250Mi")
	t.Run("top", h.seesUsage)
	t.Run("who may see it", h.seesUsageByRole)

	h.must("kubectl", "wait", "deployment/load", "--for=jsonpath={.spec.replicas}=4", within)
	h.must("kubectl", "wait", "deployment/cache", "--for=jsonpath={.spec.replicas}=3", within)
	// The first pod without load may already be the reason for scaling down another one, which is an error to kubectl.
	h.succeeds("annotate", "pods", "-l", "app in (load, cache)", "sim.operon.dev/usage-cpu-", "sim.operon.dev/usage-memory-")
	h.must("kubectl", "wait", "deployment/load", "deployment/cache", "--for=jsonpath={.spec.replicas}=1", within)

	t.Run("a node that is gone", h.losesUsage)
	t.Run("another server", h.losesTheGroup)
}

func (h *home) seesUsage(t *testing.T) {
	h.await("the load is seen, and nothing else", showsWithout(" app 900m 1Mi", "cache-"), "top", "pods", "-l", "app=load", "--containers", "--no-headers")
	h.await("the cache is seen", shows(" app 1m 250Mi", " log 1m 1Mi"), "top", "pods", "-l", "app=cache", "--containers", "--no-headers")
	h.await("a pod that has not started is left out", showsWithout("there 300m 1Mi", "late"), "top", "pods", "--sort-by=cpu", "--no-headers")
	h.await("one pod is seen", is("there 300m 1Mi"), "top", "pod", "there", "--no-headers")
	h.await("other namespaces are seen", showsWithout("default there 300m 1Mi", "late"), "top", "pods", "-A", "--no-headers")
	h.await("the node's sum is seen", shows("apart 300m 0% 1Mi 0%"), "top", "nodes", "--no-headers")
	h.await("labels select nodes", is("apart 300m 0% 1Mi 0%"), "top", "nodes", "-l", "is=apart", "--no-headers")
	h.await("pods are listed as others are", shows("there 300m 1Mi 1s"), "get", "podmetrics", "--no-headers")
	h.await("fields select pods", is("there 300m 1Mi 1s"), "get", "podmetrics", "--field-selector", "metadata.name=there", "--no-headers")
	h.await("fields select nodes", is("apart 300m 1Mi 1s"), "get", "nodemetrics", "--field-selector", "metadata.name=apart", "--no-headers")
	if other := h.must("kubectl", "get", "podmetrics", "-n", "kube-system", "-o", "name"); other != "" {
		t.Errorf("in another namespace there are %s", other)
	}
	h.must("kubectl", "explain", "podmetrics.containers.usage")
	h.must("kubectl", "wait", "apiservice/v1beta1.metrics.k8s.io", "--for=condition=Available", within)
}

func (h *home) seesUsageByRole(t *testing.T) {
	asked := []string{"auth", "can-i", "list", "pods.metrics.k8s.io", "--as", "somebody"}
	if r := h.run(append([]string{"kubectl"}, asked...)...); strings.TrimSpace(r.stdout) != "no" {
		t.Errorf("somebody may see what pods use: %+v", r)
	}
	h.must("kubectl", "create", "rolebinding", "views", "--clusterrole=view", "--user=somebody")
	h.await("who views a namespace may see it", shows("yes"), asked...)
	h.must("kubectl", "top", "pods", "--as", "somebody")
	if r := h.run("kubectl", "top", "nodes", "--as", "somebody"); r.code == 0 || !strings.Contains(r.stderr, "forbidden") {
		t.Errorf("somebody may see what nodes use: %+v", r)
	}
}

// losesUsage checks whether what is not known is left out, and not zero.
func (h *home) losesUsage(t *testing.T) {
	h.must("kubectl", "annotate", "node", "apart", "sim.operon.dev/fail=lost")
	h.await("a lost node is left out", showsWithout("node-0", "apart"), "get", "nodemetrics", "--no-headers")
	h.await("kubectl says so", shows("apart <unknown>"), "top", "nodes", "--no-headers")
	h.await("its pod is left out", showsWithout("load-", "there"), "top", "pods", "--no-headers")
	if r := h.run("kubectl", "top", "node", "apart"); r.code == 0 || !strings.Contains(r.stderr, "not found") {
		t.Errorf("a lost node: %+v", r)
	}
}

// elsewhere has a Service serve the group, behind which there is nothing.
const elsewhere = `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec:
  group: metrics.k8s.io
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {name: metrics-server, namespace: kube-system}
---
`

// losesTheGroup has another server take the group over, and gets it back by a reset.
func (h *home) losesTheGroup(t *testing.T) {
	h.apply(elsewhere)
	kinds := []string{"api-resources", "--api-group=metrics.k8s.io", "--no-headers"}
	h.await("the other one is asked, and serves nothing", is(""), kinds...)
	h.must("reset")
	h.await("the group is served again", is("nodes metrics.k8s.io/v1beta1 false NodeMetrics\npods metrics.k8s.io/v1beta1 true PodMetrics"), kinds...)
	h.await("it tells what nodes use", shows("node-0"), "top", "nodes", "--no-headers")
}
