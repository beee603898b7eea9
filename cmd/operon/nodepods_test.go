package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/local/localtest"
)

// ordered checks that init containers run one at a time, and that a sidecar runs from the first of them until after the last
// container.
func ordered(t *testing.T, n *node) {
	const mounts = "volumeMounts: [{name: shared, mountPath: /shared}]"
	manifest := pod("ordered", "echo main >> /shared/order; cat /shared/order", "    "+mounts+`
  initContainers:
  - {name: first, image: "busybox:1", command: [sh, -c, "echo first >> /shared/order"], `+mounts+`}
  - name: sidecar
    image: busybox:1
    restartPolicy: Always
    command: [sh, -c, "trap 'cat /shared/order; exit' TERM; echo sidecar >> /shared/order; touch /shared/up; while sleep 0.1; do :; done"]
    startupProbe: {exec: {command: [test, -e, /shared/up]}, periodSeconds: 1, timeoutSeconds: 60, failureThreshold: 60}
    `+mounts+`
  - {name: second, image: "busybox:1", command: [sh, -c, "echo second >> /shared/order"], `+mounts+`}
  volumes: [{name: shared, emptyDir: {}}]`)
	n.apply(t, strings.Replace(manifest, "PeriodSeconds: 1\n", "PeriodSeconds: 60\n", 1)) // for its output at its end
	const order = "first\nsidecar\nsecond\nmain\n"
	if said := n.says(t, "ordered"); said != order {
		t.Errorf("the order is %q", said)
	}
	if said := n.log(t, "ordered", "sidecar"); said != order {
		t.Errorf("at its end the sidecar saw %q", said)
	}
}

// failsToBegin checks that after an init container failed, no other container starts.
func failsToBegin(t *testing.T, n *node) {
	n.apply(t, pod("begins", "echo never", `
  initContainers: [{name: init, image: "busybox:1", command: [sh, -c, "exit 3"]}]`))
	status := n.awaitEnd(t, "begins").Status
	if ended := status.InitContainerStatuses[0].State.Terminated; status.Phase != corev1.PodFailed || ended == nil || ended.ExitCode != 3 {
		t.Errorf("%+v", status)
	}
	if waiting := status.ContainerStatuses[0].State.Waiting; waiting == nil || waiting.Reason != "PodInitializing" {
		t.Errorf("%+v", status.ContainerStatuses)
	}
}

const job = `
apiVersion: batch/v1
kind: Job
metadata: {name: %s}
spec:
  %s
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers: [{name: app, image: "busybox:1", command: [sh, -c, %q]}]
---`

// jobs checks that Jobs run as often as specified, and that they fail after too many failures or after their deadline.
func jobs(t *testing.T, n *node) {
	n.apply(t, fmt.Sprintf(job, "thrice", "completions: 3\n  parallelism: 2", "true")+
		fmt.Sprintf(job, "fails", "backoffLimit: 1", "exit 1")+
		fmt.Sprintf(job, "late", "activeDeadlineSeconds: 1", "sleep 600"))
	if done := n.awaitJob(t, "thrice", batchv1.JobComplete); done.Status.Succeeded != 3 {
		t.Errorf("%+v", done.Status)
	}
	if failed := n.awaitJob(t, "fails", batchv1.JobFailed); failed.Status.Failed != 2 || failed.Status.Succeeded != 0 {
		t.Errorf("%+v", failed.Status)
	}
	late := n.awaitJob(t, "late", batchv1.JobFailed)
	overdue := func(c batchv1.JobCondition) bool { return c.Reason == batchv1.JobReasonDeadlineExceeded }
	if !slices.ContainsFunc(late.Status.Conditions, overdue) {
		t.Errorf("%+v", late.Status)
	}
}

// triedAgain checks that a pod that fails at first is retried and then succeeds.
func triedAgain(t *testing.T, n *node) {
	manifest := pod("again", "echo x >> /lives/all; wc -l < /lives/all; test $(wc -l < /lives/all) = 2", `
    volumeMounts: [{name: lives, mountPath: /lives}]
  volumes: [{name: lives, emptyDir: {}}]`)
	n.apply(t, strings.Replace(manifest, "restartPolicy: Never", "restartPolicy: OnFailure", 1))
	if said := n.says(t, "again"); said != "2\n" {
		t.Errorf("%q", said)
	}
}

// daemons checks that a DaemonSet runs on each node that accepts its pods.
func daemons(t *testing.T, n *node) {
	n.apply(t, `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: daemon}
spec:
  selector: {matchLabels: {app: daemon}}
  template:
    metadata: {labels: {app: daemon}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: app, image: "busybox:1", command: [sleep, "600"]}]`)
	n.kubectl(t, "rollout", "status", "daemonset/daemon", "--timeout=10m")
	if on := n.kubectl(t, "get", "pods", "-l", "app=daemon", "-o", "jsonpath={.items[*].spec.nodeName}"); on != "container-0" {
		t.Errorf("it runs on %q", on)
	}
}

// cronJobs checks that a CronJob starts a Job for its schedule, which was missed here, and manually.
func cronJobs(t *testing.T, n *node) {
	n.apply(t, `
apiVersion: batch/v1
kind: CronJob
metadata: {name: yearly}
spec:
  schedule: "0 0 1 1 *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: app, image: "busybox:1", command: ["true"]}]`)
	n.kubectl(t, "create", "job", "now", "--from=cronjob/yearly")
	n.awaitJob(t, "now", batchv1.JobComplete)
	n.kubectl(t, "patch", "cronjob", "yearly", "--subresource=status", "--patch", `{"status": {"lastScheduleTime": "2024-06-01T00:00:00Z"}}`)
	localtest.Eventually(t, "the Job that was missed", func(ctx context.Context) error {
		jobs, err := n.BatchV1().Jobs("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, job := range jobs.Items {
			if strings.HasPrefix(job.Name, "yearly-") && job.Status.Succeeded == 1 {
				return nil
			}
		}
		return fmt.Errorf("there are %d others", len(jobs.Items))
	})
}

func (n *node) awaitJob(t *testing.T, name string, want batchv1.JobConditionType) *batchv1.Job {
	t.Helper()
	var job *batchv1.Job
	localtest.Eventually(t, fmt.Sprintf("Job %s to be %s", name, want), func(ctx context.Context) (err error) {
		if job, err = n.BatchV1().Jobs("default").Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		for _, condition := range job.Status.Conditions {
			if condition.Type == want && condition.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("it is %+v", job.Status)
	})
	return job
}

// settingsOfPods checks that pods receive settings in the environment and as files, which are updated with their object, and
// also fields of the pod and its address.
func settingsOfPods(t *testing.T, n *node) {
	const script = `echo $FROM_CONFIG $FROM_SECRET $NODE $CPU; test $ADDRESS = $(hostname -i) && stat -L -c '%a %s' /secret/key; cat /all/labels; echo
test -s /all/token && echo token; mount | grep -o 'on /memory type tmpfs'; echo kept > /memory/file && cat /memory/file
until test $(cat /config/key) = after; do sleep 0.1; done; cat /config/key /one/key`
	n.apply(t, `
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {key: before}}
---
{apiVersion: v1, kind: Secret, metadata: {name: settings}, stringData: {key: hidden}}
---`+pod("settings", script, `
    env:
    - {name: FROM_CONFIG, valueFrom: {configMapKeyRef: {name: settings, key: key}}}
    - {name: FROM_SECRET, valueFrom: {secretKeyRef: {name: settings, key: key}}}
    - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
    - {name: ADDRESS, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
    - {name: CPU, valueFrom: {resourceFieldRef: {resource: requests.cpu, divisor: 1m}}}
    resources: {requests: {cpu: 7m}}
    volumeMounts:
    - {name: config, mountPath: /config}
    - {name: config, mountPath: /one/key, subPath: key}
    - {name: secret, mountPath: /secret}
    - {name: all, mountPath: /all}
    - {name: memory, mountPath: /memory}
  volumes:
  - {name: config, configMap: {name: settings}}
  - {name: secret, secret: {secretName: settings, items: [{key: key, path: key, mode: 0400}]}}
  - {name: memory, emptyDir: {medium: Memory}}
  - name: all
    projected:
      sources:
      - serviceAccountToken: {path: token}
      - downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: "metadata.labels"}}]}`))
	n.await(t, "settings", "to be ready", ready)
	n.kubectl(t, "patch", "configmap", "settings", "--patch", `{"data": {"key": "after"}}`)
	const want = "before hidden container-0 7\n400 6\napp=\"settings\"\ntoken\non /memory type tmpfs\nkept\nafterbefore" // a subPath of a volume is not updated
	if said := n.says(t, "settings"); said != want {
		t.Errorf("%q, want %q", said, want)
	}
}

// volumes checks that volumes retain their contents after their pod was deleted.
func volumes(t *testing.T, n *node) {
	shared, local := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(shared, "here"), []byte("of the machine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	more := fmt.Sprintf(`
    volumeMounts: [{name: shared, mountPath: /shared}, {name: claimed, mountPath: /claimed}, {name: local, mountPath: /local}]
  volumes:
  - {name: shared, hostPath: {path: %s}}
  - {name: claimed, persistentVolumeClaim: {claimName: claimed}}
  - {name: local, persistentVolumeClaim: {claimName: local}}`, shared)
	n.apply(t, fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: local}
spec:
  capacity: {storage: 1Mi}
  accessModes: [ReadWriteOnce]
  storageClassName: by-hand
  local: {path: %s}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [container-0]}]}]}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: local}, spec: {storageClassName: by-hand, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: claimed}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}
---`, local)+pod("writes", "cat /shared/here; echo back > /shared/there; echo one > /claimed/file; echo two > /local/file", more))
	if said := n.says(t, "writes"); said != "of the machine\n" {
		t.Errorf("it read %q", said)
	}
	if got, err := os.ReadFile(filepath.Join(shared, "there")); err != nil || string(got) != "back\n" {
		t.Errorf("on the machine is %q, %v", got, err)
	}
	n.kubectl(t, "delete", "pod", "writes")
	n.apply(t, pod("reads", "cat /claimed/file /local/file", more))
	if said := n.says(t, "reads"); said != "one\ntwo\n" {
		t.Errorf("the next pod read %q", said)
	}
}

// limits checks that limits of memory and processors are enforced, even if they change while a container runs, and that
// exceeding a memory limit is reported.
func limits(t *testing.T, n *node) {
	const script = `quota() { cat /sys/fs/cgroup/cpu.max 2>/dev/null || echo $(cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu/cpu.cfs_period_us); }
quota; until test "$(quota)" != "25000 100000"; do sleep 0.1; done; quota`
	n.apply(t, pod("quota", script, `    resources: {limits: {cpu: 250m}}`)+
		pod("hungry", "exec tail /dev/zero", `    resources: {limits: {memory: 24Mi}}`))
	n.await(t, "quota", "to be ready", ready)
	n.kubectl(t, "patch", "pod", "quota", "--subresource=resize", "--patch", `{"spec": {"containers": [{"name": "app", "resources": {"limits": {"cpu": "500m"}}}]}}`)
	if said := n.says(t, "quota"); said != "25000 100000\n50000 100000\n" {
		t.Errorf("the control group has %q", said)
	}
	ended := n.awaitEnd(t, "hungry").Status.ContainerStatuses[0].State.Terminated
	if ended == nil || ended.Reason != "OOMKilled" || ended.ExitCode != 137 {
		t.Errorf("%+v", ended)
	}
}

// confined checks that a security context restricts a container.
func confined(t *testing.T, n *node) {
	n.apply(t, pod("confined", `echo $(id -u) $(id -g); touch /file || touch /tmp/file; grep -E 'CapEff|CapBnd|NoNewPrivs|Seccomp:' /proc/self/status`, `
    securityContext:
      runAsUser: 1234
      runAsGroup: 2345
      readOnlyRootFilesystem: true
      allowPrivilegeEscalation: false
      capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}
      seccompProfile: {type: RuntimeDefault}
    volumeMounts: [{name: tmp, mountPath: /tmp}]
  volumes: [{name: tmp, emptyDir: {}}]`))
	said := n.says(t, "confined")
	for _, want := range []string{"1234 2345\n", "Read-only file system", "CapEff:\t0000000000000000\n", "CapBnd:\t0000000000000400\n", "NoNewPrivs:\t1\n", "Seccomp:\t2\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in:\n%s", want, said)
		}
	}
}

// ends checks the start and end of a pod: its postStart and preStop commands run, and then it handles the signal to terminate.
func ends(t *testing.T, n *node) {
	manifest := pod("ends", "trap 'echo told; exit' TERM; until test -e /begun; do sleep 0.1; done; echo up; touch /up; while sleep 0.1; do :; done", `
    readinessProbe: {exec: {command: [test, -e, /up]}, periodSeconds: 1, timeoutSeconds: 60}
    lifecycle:
      postStart: {exec: {command: [touch, /begun]}}
      preStop: {exec: {command: [sh, -c, "echo before > /proc/1/fd/1"]}}`)
	n.apply(t, strings.Replace(manifest, "PeriodSeconds: 1\n", "PeriodSeconds: 60\n", 1))
	n.await(t, "ends", "to be ready", ready)
	logs, said := n.follow(t, "ends")
	n.kubectl(t, "delete", "pod", "ends")
	if err := logs.Wait(); err != nil || said.String() != "up\nbefore\ntold\n" {
		t.Errorf("%q, %v", said, err)
	}
}

// stubborn checks that a pod that ignores the signal to terminate is killed, but not before its grace period ends.
func stubborn(t *testing.T, n *node) {
	manifest := pod("stubborn", "trap 'echo no' TERM; echo up; while sleep 0.1; do :; done", "")
	n.apply(t, strings.Replace(manifest, "PeriodSeconds: 1\n", "PeriodSeconds: 3\n", 1))
	n.await(t, "stubborn", "to be ready", ready)
	logs, said := n.follow(t, "stubborn")
	began := time.Now()
	n.kubectl(t, "delete", "pod", "stubborn")
	if took := time.Since(began); took < 3*time.Second {
		t.Errorf("it was killed after %s", took)
	}
	if err := logs.Wait(); err != nil || !strings.HasPrefix(said.String(), "up\nno\n") {
		t.Errorf("%q, %v", said, err)
	}
	if _, err := n.CoreV1().Pods("default").Get(t.Context(), "stubborn", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after its deletion: %v", err)
	}
}

// probes checks that probes remove a pod from its Services and restart its container.
func probes(t *testing.T, n *node) {
	manifest := pod("probed", "mkdir -p /www; touch /www/well; exec httpd -f -p 8080 -h /www", `
    readinessProbe: {httpGet: {path: /well, port: 8080}, periodSeconds: 1, failureThreshold: 1}
    livenessProbe: {exec: {command: [test, "!", -e, /sick]}, periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 60}`)
	n.apply(t, strings.Replace(manifest, "restartPolicy: Never", "restartPolicy: Always", 1))
	n.await(t, "probed", "to be ready", ready)
	n.kubectl(t, "exec", "probed", "--", "rm", "/www/well")
	n.await(t, "probed", "to be out of service", func(pod *corev1.Pod) error { return hasReady(pod, corev1.ConditionFalse) })
	n.kubectl(t, "exec", "probed", "--", "touch", "/sick")
	n.await(t, "probed", "to be started again", restarted)
	n.await(t, "probed", "to be ready", ready)
}

// startup checks that a startup probe restarts a container that never becomes ready, but not a slow one.
func startup(t *testing.T, n *node) {
	const probe = "    startupProbe: {tcpSocket: {port: 8080}, periodSeconds: 1, failureThreshold: %d}"
	never := pod("never-up", "sleep 600", fmt.Sprintf(probe, 1))
	n.apply(t, pod("slow", "sleep 2; exec httpd -f -p 8080", fmt.Sprintf(probe, 120))+strings.Replace(never, "restartPolicy: Never", "restartPolicy: Always", 1))
	slow := n.await(t, "slow", "to be ready", ready)
	started := slow.Status.ContainerStatuses[0].State.Running
	if slow.Status.ContainerStatuses[0].RestartCount != 0 || started == nil {
		t.Errorf("%+v", slow.Status)
	}
	for _, condition := range slow.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.LastTransitionTime.Sub(started.StartedAt.Time) < time.Second {
			t.Errorf("ready at %s, and started at %s", condition.LastTransitionTime, started.StartedAt)
		}
	}
	n.await(t, "never-up", "to be started again", func(pod *corev1.Pod) error {
		if s := pod.Status.ContainerStatuses; len(s) == 0 || s[0].LastTerminationState.Terminated == nil {
			return errors.New("it was not started again")
		}
		return nil
	})
}
