package ansible_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/engine/ansible"
	"github.com/operon-framework/operon/local/localtest"
)

// A run that has ended costs nothing: no requests while nothing changes, and no run after a restart of the operator.
func TestFixedPoint(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.Add("one", map[string]any{"awningColor": "blue", "replicas": int64(2)})
	seen, stop := m.Start()
	m.AwaitReady("one")
	m.AwaitCondition("one", "Successful", metav1.ConditionTrue, "Successful")
	m.EventuallyData("one", "color", "blue")
	m.EventuallyData("one", "raw", `{"awningColor": "blue", "replicas": 2}`)
	m.Quiet(seen)
	if result := m.StatusOf("one").AnsibleResult; result == nil || result.OK != 4 || result.Changed != 3 || result.Skipped != 1 {
		t.Errorf("the run has the result %+v, want 4 ok, 3 changed, 1 skipped", result)
	}
	if open := m.StatusOf("one").LastRun.Open; open != "" {
		t.Errorf("the run counts as open: %s", open)
	}
	stop()

	again, _ := m.Start()
	m.AwaitReady("one")
	m.Quiet(again)
	if writes := again.Writes(); len(writes) > 0 {
		t.Errorf("the operator started again and wrote %q", writes)
	}
	m.SetSpec("one", `{"awningColor":"green"}`)
	m.EventuallyData("one", "color", "green")
	m.AwaitReady("one")
	stall := m.New("one", nil)
	m.Must(m.Get(t.Context(), client.ObjectKeyFromObject(stall), stall))
	if color := stall.Object["status"].(map[string]any)["color"]; color != "green" {
		t.Errorf("the status that the role writes has the color %v, want green", color)
	}
	m.Quiet(again)
}

// The role is run again when an object changes that it read or wrote, and the children are deleted with their owner.
func TestDriftAndReads(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.Add("one", nil)
	seen, _ := m.Start()
	m.AwaitReady("one")

	prices := &corev1.ConfigMap{ObjectMeta: m.Named("prices"), Data: map[string]string{"price": "5"}}
	m.Must(m.Create(t.Context(), prices))
	m.EventuallyData("one-price", "price", "5")
	prices.Data["price"] = "6"
	m.Must(m.Update(t.Context(), prices))
	m.EventuallyData("one-price", "price", "6")

	live := &appsv1.Deployment{ObjectMeta: m.Named("one")}
	m.Must(m.Patch(t.Context(), live, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":5}}`))))
	m.Eventually("one replica again", func(ctx context.Context) error {
		err := m.Get(ctx, client.ObjectKeyFromObject(live), live)
		if err == nil && *live.Spec.Replicas != 1 {
			err = fmt.Errorf("%d replicas", *live.Spec.Replicas)
		}
		return err
	})
	m.Must(m.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: m.Named("one")}))
	m.EventuallyData("one", "color", "red")
	m.AwaitReady("one")
	m.Quiet(seen)
	if len(live.OwnerReferences) != 1 || live.OwnerReferences[0].Kind != "Stall" || live.OwnerReferences[0].Controller != nil {
		t.Errorf("the Deployment has the owners %+v, want the Stall, not as controller", live.OwnerReferences)
	}
	m.Must(m.Delete(t.Context(), m.New("one", nil)))
	m.EventuallyGone(live)
}

// The failure of a task that is rescued is not the failure of the run.
func TestRescuedFailure(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.Write("roles/stall/tasks/main.yml", `
- block:
  - ansible.builtin.include_tasks: gate.yml
  rescue:
  - block:
    - ansible.builtin.fail: {msg: the second gate is closed}
    rescue:
    - ansible.builtin.debug: {msg: there is a window}
- block:
  - block:
    - ansible.builtin.fail: {msg: the window is closed}
    rescue:
    - ansible.builtin.fail: {msg: there is no ladder}
  always:
  - ansible.builtin.fail: {msg: nobody is at home}
`)
	m.Write("roles/stall/tasks/gate.yml", "- ansible.builtin.fail: {msg: the gate is closed}\n")
	m.Add("one", nil)
	m.Start()
	failure := m.AwaitCondition("one", "Failure", metav1.ConditionTrue, "Failed")
	var messages []string
	for line := range strings.Lines(failure.Message) {
		text, _, _ := strings.Cut(line, " (")
		messages = append(messages, text)
	}
	if got, want := strings.Join(messages, ", "), "there is no ladder, nobody is at home"; got != want {
		t.Errorf("Failure has the messages %s, want %s:\n%s", got, want, failure.Message)
	}
}

// A failed task is named in the condition, the run is repeated, and other objects are not affected.
func TestFailedTask(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.Write("roles/stall/tasks/main.yml", `
- name: check the color
  ansible.builtin.assert:
    that: awning_color != "black"
    fail_msg: an awning cannot be black
- name: write
  kubernetes.core.k8s:
    definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ ansible_operator_meta.name }}", namespace: "{{ ansible_operator_meta.namespace }}"}, data: {color: "{{ awning_color }}"}}
`)
	m.Add("bad", map[string]any{"awningColor": "black"})
	m.Add("good", nil)
	m.Start()
	m.AwaitReady("good")
	failure := m.AwaitCondition("bad", "Failure", metav1.ConditionTrue, "Failed")
	if want := "an awning cannot be black (role stall, task \"check the color\", " + filepath.Join(m.Project, "roles/stall/tasks/main.yml") + ":2)"; failure.Message != want {
		t.Errorf("Failure has the message\n%s, want\n%s", failure.Message, want)
	}
	m.AwaitCondition("bad", "Ready", metav1.ConditionFalse, "Failed")
	m.AwaitCondition("bad", "Successful", metav1.ConditionFalse, "Failed")
	m.SetSpec("bad", `{"awningColor":"white"}`)
	m.EventuallyData("bad", "color", "white")
	m.AwaitReady("bad")
	m.AwaitCondition("bad", "Failure", metav1.ConditionFalse, "")
}

// A syntax error, an undefined variable, a module that does not exist and a run that is killed are told in the condition. The objects share an operator,
// whose role is edited before each is created: to start Python takes most of the time.
func TestBrokenRoles(t *testing.T) {
	t.Parallel()
	m := newMarketWith(t, func() *ansible.Engine { return ansible.SlowRetries(&ansible.Engine{}) })
	for i, test := range []struct{ name, tasks, want string }{
		{"syntax", "- name: [\n", "tasks/main.yml"}, // first, because the operator has to start with it
		{"undefined", "- name: use\n  ansible.builtin.debug: {msg: '{{ nothing.here }}'}\n", "'nothing' is undefined"},
		{"no-module", "- name: use\n  no_such_module: {}\n", "no_such_module"},
		{"exit", "- name: use\n  ansible.builtin.command: kill -9 {{ lookup('pipe', 'ps -o ppid= -p $PPID') | trim }}\n", "the run ended with status"},
	} {
		m.Write("roles/stall/tasks/main.yml", test.tasks)
		if i == 0 {
			m.Start()
		}
		m.Add(test.name, nil)
		failure := m.AwaitCondition(test.name, "Failure", metav1.ConditionTrue, "Failed")
		if !strings.Contains(failure.Message, test.want) {
			t.Errorf("Failure of %s has the message %q, want it to contain %q", test.name, failure.Message, test.want)
		}
	}
}

// A spec cannot choose the commands that Ansible runs.
func TestSpecDoesNotControlAnsible(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.Write("watches.yaml", "- {group: market.example.com, version: v1, kind: Stall, role: stall, markUnsafe: true}\n")
	m.Write("roles/stall/tasks/main.yml", `[{ansible.builtin.command: "true"}]`)
	mark := filepath.Join(t.TempDir(), "mark")
	m.Add("one", map[string]any{"ansibleBecome": true, "ansible_become_exe": "touch " + mark + ";", "ansible_become_user": "nobody"})
	m.Start()
	var failure *metav1.Condition
	m.Eventually("the end of a run or an error", func(context.Context) error {
		if failure = meta.FindStatusCondition(m.StatusOf("one").Conditions, "Failure"); failure == nil {
			return errors.New("there is no condition Failure")
		}
		return nil
	})
	if want := "the spec sets the variables ansible_become, ansible_become_exe, ansible_become_user, which control Ansible itself"; failure.Reason != ansible.ReasonInvalidSpec || !strings.Contains(failure.Message, want) {
		t.Errorf("Failure has the reason %s and the message %q, want %s and %q", failure.Reason, failure.Message, ansible.ReasonInvalidSpec, want)
	}
	if _, err := os.Stat(mark); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the command in the spec ran: %v", err)
	}
	m.SetSpec("one", `{"ansibleBecome":null,"ansible_become_exe":null,"ansible_become_user":null}`)
	m.AwaitReady("one")
}

// A run that hangs is ended with all its processes.
func TestHangingTask(t *testing.T) {
	t.Parallel()
	m := newMarketWith(t, func() *ansible.Engine { return &ansible.Engine{RunTimeout: 30 * time.Second} })
	mark := filepath.Join(t.TempDir(), "pid")
	m.Write("roles/stall/tasks/main.yml", "- name: hang\n  ansible.builtin.shell: echo $$ > "+mark+"; sleep 3600\n")
	m.Add("one", nil)
	m.Start()
	m.Eventually("the failure to name the task", func(context.Context) error { // on a slow machine, the first run ends before the task begins
		want := `the run took longer than 30s and was ended (role stall, task "hang", `
		if failure := m.AwaitCondition("one", "Failure", metav1.ConditionTrue, "Failed"); !strings.HasPrefix(failure.Message, want) {
			return fmt.Errorf("Failure has the message %q, want it to begin with %q", failure.Message, want)
		}
		return nil
	})
	pid, err := os.ReadFile(mark)
	m.Must(err)
	m.Eventually("the shell has ended", func(context.Context) error {
		if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("process %s exists: %v", pid, err)
		}
		return nil
	})
}

// A task that depends on more than the API server makes the run open, which is repeated after the period. The status shows the
// runs also if the next one begins as soon as one has ended.
func TestPeriod(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	file := filepath.Join(t.TempDir(), "color")
	m.Must(os.WriteFile(file, []byte("red"), 0o600))
	m.Write("roles/stall/tasks/main.yml", `
- ansible.builtin.command: cat `+file+`
  register: color
- kubernetes.core.k8s:
    definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: "{{ ansible_operator_meta.namespace }}"}, data: {color: "{{ color.stdout }}"}}
`)
	m.Write("watches.yaml", "- {group: market.example.com, version: v1, kind: Stall, role: stall, reconcilePeriod: 1ms}\n")
	m.Add("one", nil)
	m.Start()
	m.EventuallyData("one", "color", "red")
	m.Must(os.WriteFile(file, []byte("blue"), 0o600))
	m.EventuallyData("one", "color", "blue")
	m.Eventually("the status says why the run is open", func(context.Context) error {
		if last := m.StatusOf("one").LastRun; last == nil || !strings.Contains(last.Open, "command") {
			return fmt.Errorf("the last run is %+v, want it open because of the task with command", last)
		}
		return nil
	})
}

// The period that a user of the API sets has a minimum. A verbosity that is not a number has no effect.
func TestShortPeriod(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	file := filepath.Join(t.TempDir(), "runs")
	m.Write("roles/stall/tasks/main.yml", "- ansible.builtin.shell: date +%s >> "+file+"\n")
	stall := m.New("one", nil)
	stall.SetAnnotations(map[string]string{"ansible.sdk.operatorframework.io/reconcile-period": "1ns", "ansible.sdk.operatorframework.io/verbosity": "loud"})
	m.Must(m.Create(t.Context(), stall))
	m.Start()
	var first, second int64
	m.Eventually("two runs", func(context.Context) error {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		_, err = fmt.Sscan(string(content), &first, &second)
		return err
	})
	if between := second - first; between < 10 {
		t.Errorf("a run began %d s after another one, want 10 s or more", between)
	}
}

// A run that failed is repeated when an object changes that it read, and does not wait for its backoff.
func TestFailureEndsWithAChange(t *testing.T) {
	t.Parallel()
	m := newMarketWith(t, func() *ansible.Engine { return ansible.SlowRetries(&ansible.Engine{}) })
	m.Write("roles/stall/tasks/main.yml", `
- kubernetes.core.k8s_info: {api_version: v1, kind: ConfigMap, namespace: "{{ ansible_operator_meta.namespace }}", name: prices}
  register: prices
- ansible.builtin.fail: {msg: there are no prices}
  when: prices.resources | length == 0
`)
	m.Add("one", nil)
	m.Start()
	m.AwaitCondition("one", "Failure", metav1.ConditionTrue, "Failed")
	m.Must(m.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: m.Named("prices")}))
	m.AwaitReady("one")
}

// A kind whose status the operator does not manage works with and without a finalizer.
func TestWithoutStatus(t *testing.T) {
	t.Parallel()
	for _, finalizer := range []string{"", "  finalizer: {name: market.example.com/close, vars: {state: absent}}\n"} {
		m := newMarket(t)
		m.Write("watches.yaml", "- group: market.example.com\n  version: v1\n  kind: Stall\n  role: stall\n  manageStatus: false\n"+finalizer)
		m.Write("roles/stall/tasks/main.yml", `
- kubernetes.core.k8s:
    definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: "{{ ansible_operator_meta.namespace }}"}, data: {color: red}}
`)
		stall := m.Add("one", nil)
		m.Start()
		m.EventuallyData("one", "color", "red")
		m.Must(m.Delete(t.Context(), stall))
		m.EventuallyGone(stall)
	}
}

// The module requeue_after repeats the run, k8s_event records an Event, and osdk_metric changes a metric.
func TestModules(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.Write("roles/stall/tasks/main.yml", `
- kubernetes.core.k8s_info: {api_version: v1, kind: Event, namespace: "{{ ansible_operator_meta.namespace }}", name: stall-event}
  register: events
- operator_sdk.util.k8s_event:
    name: stall-event
    namespace: "{{ ansible_operator_meta.namespace }}"
    message: the stall is open
    reason: Opened
    involvedObject: {apiVersion: market.example.com/v1, kind: Stall, name: one, namespace: "{{ ansible_operator_meta.namespace }}"}
  when: events.resources | length == 0 or events.resources[0].count < 3
- operator_sdk.util.osdk_metric: {name: stall_runs_total, description: Runs., counter: {increment: yes}}
- operator_sdk.util.osdk_metric: {name: stall_events, description: Events., gauge: {set: "{{ events.resources | length }}"}}
- operator_sdk.util.requeue_after: {time: 1s}
  when: events.resources | length == 0 or events.resources[0].count < 3
`)
	// An installed collection of the name does not matter.
	const installed = "collections/ansible_collections/operator_sdk/util/"
	m.Write(installed+"galaxy.yml", "namespace: operator_sdk\nname: util\nversion: 0.5.0\nauthors: [none]\nreadme: README.md\n")
	m.Write(installed+"plugins/modules/osdk_metric.py", "raise Exception('nobody serves port 5050')\n")
	m.Add("one", nil)
	m.Start()
	event := &corev1.Event{ObjectMeta: m.Named("stall-event")}
	m.Eventually("three runs", func(ctx context.Context) error {
		err := m.Get(ctx, client.ObjectKeyFromObject(event), event)
		if err == nil && event.Count < 3 {
			err = fmt.Errorf("%d runs; status %+v", event.Count, m.StatusOf("one"))
		}
		return err
	})
	m.AwaitReady("one")
	if event.Message != "the stall is open" || event.Reason != "Opened" || event.InvolvedObject.Name != "one" {
		t.Errorf("the Event is %+v", event)
	}
}

// A module of a role can import Python files of the role.
func TestModuleOfARole(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.Write("roles/stall/module_utils/paint.py", "def color():\n    return \"violet\"\n")
	m.Write("roles/stall/library/brush.py", `#!/usr/bin/python
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.paint import color

AnsibleModule(argument_spec={}).exit_json(color=color())
`)
	m.Write("roles/stall/tasks/main.yml", `
- brush:
  register: brush
- kubernetes.core.k8s:
    definition:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ ansible_operator_meta.name }}", namespace: "{{ ansible_operator_meta.namespace }}"}
      data: {color: "{{ brush.color }}"}
`)
	m.Add("one", nil)
	m.Start()
	m.EventuallyData("one", "color", "violet")
	m.AwaitReady("one")
}

// The role of the finalizer runs when the object is deleted, also when a run for the object is in progress.
func TestFinalizer(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.Write("watches.yaml", `
- group: market.example.com
  version: v1
  kind: Stall
  role: stall
  finalizer: {name: market.example.com/close, vars: {state: absent}}
`)
	m.Write("roles/stall/tasks/main.yml", `
- ansible.builtin.command: sleep 600
  when: state | default('present') == 'present'
- kubernetes.core.k8s:
    definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: "closed-{{ ansible_operator_meta.name }}", namespace: "{{ ansible_operator_meta.namespace }}"}}
  when: state | default('present') == 'absent'
- kubernetes.core.k8s:
    definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: kept, namespace: "{{ ansible_operator_meta.namespace }}"}, data: {reason: "{{ not_yet }}"}}
  when: state | default('present') == 'absent' and 'not_yet' in (lookup('kubernetes.core.k8s', api_version='v1', kind='ConfigMap', namespace=ansible_operator_meta.namespace, resource_name='gate') | default({}, true)).data | default({})
`)
	stall := m.Add("one", nil)
	m.Start()
	m.AwaitCondition("one", "Running", metav1.ConditionTrue, "Running")
	m.Must(m.Delete(t.Context(), stall))
	m.EventuallyGone(stall)
	var closed corev1.ConfigMap
	err := m.Get(t.Context(), client.ObjectKey{Namespace: m.Namespace, Name: "closed-one"}, &closed)
	if err != nil && !apierrors.IsNotFound(err) { // garbage collection may have deleted it with its owner
		t.Error(err)
	}
}

// Objects that garbage collection does not reach are annotated, and a Warning event names them.
func TestOutsideOfTheNamespace(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	role := "stall-" + m.Namespace
	m.Write("roles/stall/tasks/main.yml", "- kubernetes.core.k8s: {definition: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "+role+"}}}\n")
	live := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role}}
	t.Cleanup(func() { m.Must(client.IgnoreNotFound(m.Delete(context.Background(), live))) })
	m.Add("one", nil)
	m.Start()
	m.AwaitReady("one")
	m.Must(m.Get(t.Context(), client.ObjectKeyFromObject(live), live))
	if got := live.Annotations["operator-sdk/primary-resource"]; got != m.Namespace+"/one" || len(live.OwnerReferences) > 0 {
		t.Errorf("the ClusterRole has the annotations %v and the owners %v", live.Annotations, live.OwnerReferences)
	}
	m.Eventually("an event", func(ctx context.Context) error {
		var events corev1.EventList
		if err := m.List(ctx, &events, client.InNamespace(m.Namespace)); err != nil {
			return err
		}
		for _, event := range events.Items {
			if event.Reason == "NotGarbageCollected" && strings.Contains(event.Message, "ClusterRole "+role) {
				return nil
			}
		}
		return fmt.Errorf("%d events, none about it", len(events.Items))
	})
}

// If the Python process is killed, the run is repeated in a new one.
func TestWorkerIsKilled(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	mark := filepath.Join(t.TempDir(), "killed")
	m.Write("roles/stall/tasks/main.yml", `
- name: kill the worker once
  ansible.builtin.shell: test -e `+mark+` || { touch `+mark+`; kill -9 $(ps -o ppid= -p $(ps -o sid= -p $$)); }
- kubernetes.core.k8s:
    definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: "{{ ansible_operator_meta.namespace }}"}, data: {color: red}}
`)
	m.Add("one", nil)
	m.Start()
	m.EventuallyData("one", "color", "red")
	m.AwaitReady("one")
	if _, err := os.Stat(mark); err != nil {
		t.Error(err)
	}
	localtest.Eventually(t, "the failure is no longer shown", func(context.Context) error {
		for _, c := range m.StatusOf("one").Conditions {
			if c.Type == "Failure" && c.Status != metav1.ConditionFalse {
				return errors.New(c.Message)
			}
		}
		return nil
	})
}
