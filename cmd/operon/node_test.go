package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/local/localtest"
)

// The features of Kubernetes for pods work on a node of containers, in one cluster, with Debian's busybox.
func TestNodeOfContainers(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for name, test := range map[string]func(*testing.T, *node){
		"attach":                       attach,
		"exec":                         execInto,
		"cp":                           copyFiles,
		"logs":                         followLogs,
		"logs of a life before":        logsOfBefore,
		"port-forward":                 forwardPort,
		"debug":                        debugPod,
		"init containers and sidecars": ordered,
		"an init container that fails": failsToBegin,
		"Jobs":                         jobs,
		"a second try":                 triedAgain,
		"DaemonSets":                   daemons,
		"CronJobs":                     cronJobs,
		"ConfigMaps and Secrets":       settingsOfPods,
		"volumes of the machine":       volumes,
		"readiness and liveness":       probes,
		"startup":                      startup,
		"limits":                       limits,
		"security contexts":            confined,
		"the end of a pod":             ends,
		"one that does not end":        stubborn,
		"names and Services":           names,
		"the node's own namespaces":    ofTheNode,
		"pods that are refused":        refused,
		"runtimes that are not there":  refusedRuntimes,
		"logs that are long":           longLogs,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, n)
		})
	}
}

// node is a cluster with a node of containers that has the image busybox:1.
type node struct {
	kubernetes.Interface
	env []string
}

// newNode skips the test if the machine cannot run containers or has no busybox for them.
func newNode(t *testing.T) *node {
	t.Helper()
	n := &node{env: append(newReader(t).env, asOperon+"=yes")}
	up := n.run(t, "", "cluster", "up", "--node", "container", "-o", "json")
	made := result{}
	if up.code == 0 {
		made = n.run(t, "", "image", "from-debian", "busybox-static", "--image", "busybox:1")
	}
	if said := up.stderr + made.stderr; lacks.MatchString(said) {
		testaid.Lacks(t, "%s", said)
	}
	if up.code != 0 || made.code != 0 {
		t.Fatalf("%+v\n%+v", up, made)
	}
	var facts struct{ Kubeconfig string }
	if err := json.Unmarshal([]byte(up.stdout), &facts); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", facts.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	n.Interface = kubernetes.NewForConfigOrDie(config)
	localtest.Eventually(t, "the ServiceAccount that pods have", func(ctx context.Context) error {
		_, err := n.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	return n
}

// command returns a run of operon with typed as its input.
func (n *node) command(t *testing.T, typed string, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], args...)
	command.Env, command.Stdin, command.WaitDelay = n.env, strings.NewReader(typed), 10*time.Second
	return command
}

func (n *node) run(t *testing.T, typed string, args ...string) result {
	t.Helper()
	return ended(t, n.command(t, typed, args...))
}

// kubectl runs kubectl and returns its output. It has to succeed.
func (n *node) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	r := n.run(t, "", append([]string{"kubectl"}, args...)...)
	if r.code != 0 {
		t.Fatalf("kubectl %q: exit code %d\n%s%s", args, r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

func (n *node) apply(t *testing.T, manifest string) {
	t.Helper()
	if r := n.run(t, manifest, "kubectl", "apply", "-f", "-"); r.code != 0 {
		t.Fatalf("%s\n%s", r.stderr, manifest)
	}
}

// pod returns the manifest of a pod with one container, app, that runs a shell script. more contains further fields of the
// container and, with less indentation, of the pod.
func pod(name, script, more string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {app: %s}}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: busybox:1
    command: [sh, -c, %q]
%s
---`, name, name, script, more)
}

// await waits until check returns no error for a pod.
func (n *node) await(t *testing.T, name, what string, check func(*corev1.Pod) error) *corev1.Pod {
	t.Helper()
	var found *corev1.Pod
	localtest.Eventually(t, "pod "+name+" "+what, func(ctx context.Context) (err error) {
		if found, err = n.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		if err := check(found); err != nil {
			return fmt.Errorf("%w: it is %s, %v", err, found.Status.Phase, found.Status.ContainerStatuses)
		}
		return nil
	})
	return found
}

func ready(pod *corev1.Pod) error { return hasReady(pod, corev1.ConditionTrue) }

func hasReady(pod *corev1.Pod, want corev1.ConditionStatus) error {
	has := func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == want }
	if !slices.ContainsFunc(pod.Status.Conditions, has) {
		return fmt.Errorf("its readiness is not %s", want)
	}
	return nil
}

// restarted returns an error unless the container of a pod was restarted and runs.
func restarted(pod *corev1.Pod) error {
	if s := pod.Status.ContainerStatuses; len(s) == 0 || s[0].RestartCount == 0 || s[0].State.Running == nil {
		return errors.New("it was not restarted")
	}
	return nil
}

// says waits until a pod has succeeded, and returns its log.
func (n *node) says(t *testing.T, name string) string {
	t.Helper()
	pod := n.awaitEnd(t, name)
	said := n.log(t, name, "app")
	if pod.Status.Phase != corev1.PodSucceeded {
		t.Fatalf("pod %s is %s: %v\n%s", name, pod.Status.Phase, pod.Status.ContainerStatuses, said)
	}
	return said
}

func (n *node) awaitEnd(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	return n.await(t, name, "to end", func(pod *corev1.Pod) error {
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			return errors.New("it goes on")
		}
		return nil
	})
}

func (n *node) log(t *testing.T, name, container string) string {
	t.Helper()
	said, err := n.CoreV1().Pods("default").GetLogs(name, &corev1.PodLogOptions{Container: container}).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(said)
}

// follow follows the log of a pod, and returns when it has received a part of the log.
func (n *node) follow(t *testing.T, name string) (*exec.Cmd, *heard) {
	t.Helper()
	logs, said := n.command(t, "", "kubectl", "logs", "-f", name), &heard{first: make(chan struct{})}
	logs.Stdout, logs.Stderr = said, said
	if err := logs.Start(); err != nil {
		t.Fatal(err)
	}
	localtest.Eventually(t, "something of the log of "+name, func(context.Context) error {
		select {
		case <-said.first:
			return nil
		default:
			return errors.New("nothing was read")
		}
	})
	return logs, said
}

// heard is the output of a command.
type heard struct {
	all   bytes.Buffer
	first chan struct{} // closed after the first output
	once  sync.Once
}

func (h *heard) String() string { return h.all.String() }

// Write implements io.Writer.
func (h *heard) Write(p []byte) (int, error) {
	h.once.Do(func() { close(h.first) })
	return h.all.Write(p)
}
