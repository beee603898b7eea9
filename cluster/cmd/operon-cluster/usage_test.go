package main

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// patience is the timeout for automatic effects on a machine that is busy with other tests. $OPERON_TEST_PATIENCE, such as 10m,
// sets a longer one for a machine that is much slower. within passes it to kubectl wait.
var (
	patience = cmp.Or(asDuration(os.Getenv("OPERON_TEST_PATIENCE")), 3*time.Minute)
	within   = "--timeout=" + patience.String()
)

func asDuration(text string) time.Duration {
	duration, err := time.ParseDuration(text)
	if err != nil && text != "" {
		panic(err) // the error quotes the text
	}
	return duration
}

// pause is the time between two runs of a command that is repeated. Without it, the starts of its process would take the processor time that the cluster
// needs.
const pause = time.Second / 2

// await repeats a kubectl command until it prints the wanted text, with single spaces between columns.
func (h *home) await(what string, want func(string) bool, args ...string) {
	h.t.Helper()
	deadline := time.Now().Add(patience)
	for ; ; time.Sleep(pause) {
		r := h.run(append([]string{"kubectl"}, args...)...)
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
	for ; ; time.Sleep(pause) {
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

// shows returns a condition that requires all parts.
func shows(parts ...string) func(string) bool {
	return func(text string) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
	}
}

// showsWithout returns a condition that requires one text and forbids the other. An empty output proves nothing.
func showsWithout(one, other string) func(string) bool {
	return func(text string) bool { return strings.Contains(text, one) && !strings.Contains(text, other) }
}

// is returns a condition that requires exactly one line.
func is(line string) func(string) bool {
	return func(text string) bool { return text == line }
}

// scaled contains two Deployments and their autoscalers: one scales by a share of the requests of a pod, the other by an amount
// of one container.
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

// apart contains a simulated node that runs only pods that name it, a pod that names it, and a pod that does not start.
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

// The usage of simulated pods comes from their annotations: kubectl top shows it, and autoscalers use it.
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
	// The first pod without load may already cause another pod to be removed by scaling, which is an error for kubectl.
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

// losesUsage checks that unknown usage is omitted and not zero.
func (h *home) losesUsage(t *testing.T) {
	h.must("kubectl", "annotate", "node", "apart", "sim.operon.dev/fail=lost")
	h.await("a lost node is left out", showsWithout("node-0", "apart"), "get", "nodemetrics", "--no-headers")
	h.await("kubectl says so", shows("apart <unknown>"), "top", "nodes", "--no-headers")
	h.await("its pod is left out", showsWithout("load-", "there"), "top", "pods", "--no-headers")
	if r := h.run("kubectl", "top", "node", "apart"); r.code == 0 || !strings.Contains(r.stderr, "not found") {
		t.Errorf("a lost node: %+v", r)
	}
}

// elsewhere makes a Service that does not exist serve the group.
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

// losesTheGroup makes another server serve the group, and restores the group by a reset.
func (h *home) losesTheGroup(t *testing.T) {
	h.apply(elsewhere)
	kinds := []string{"api-resources", "--api-group=metrics.k8s.io", "--no-headers"}
	h.await("the other one is asked, and serves nothing", is(""), kinds...)
	h.must("reset")
	h.await("the group is served again", is("nodes metrics.k8s.io/v1beta1 false NodeMetrics\npods metrics.k8s.io/v1beta1 true PodMetrics"), kinds...)
	h.await("it tells what nodes use", shows("node-0"), "top", "nodes", "--no-headers")
}
