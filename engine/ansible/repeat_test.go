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
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/engine/ansible"
	"github.com/operon-framework/operon/local/localtest"
)

// Objects whose runs read each other, with their status, and rehearse changes come to rest.
func TestReadsOfEachOther(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.Write("roles/stall/tasks/main.yml", `
- kubernetes.core.k8s_info: {api_version: market.example.com/v1, kind: Stall, namespace: "{{ ansible_operator_meta.namespace }}", name: "{{ item }}"}
  register: stalls
  loop: [one, two]
- kubernetes.core.k8s_info: {api_version: market.example.com/v1, kind: Stall, namespace: "{{ ansible_operator_meta.namespace }}"}
  register: list
- kubernetes.core.k8s:
    definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: never, namespace: "{{ ansible_operator_meta.namespace }}"}}
  check_mode: true
- kubernetes.core.k8s:
    definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ ansible_operator_meta.name }}", namespace: "{{ ansible_operator_meta.namespace }}"}, data: {stalls: "{{ list.resources | length }}"}}
`)
	m.Add("one", nil)
	seen, _ := m.Start()
	m.EventuallyData("one", "stalls", "1")
	m.Add("two", nil)
	m.EventuallyData("one", "stalls", "2")
	m.AwaitReady("one")
	m.AwaitReady("two")
	m.Quiet(seen)
	m.Eventually("the status says why the run is open", func(context.Context) error {
		if last := m.StatusOf("one").LastRun; last == nil || !strings.Contains(last.Open, "the status of Stall") {
			return fmt.Errorf("the last run is %+v, want it open because of the status of a Stall", last)
		}
		return nil
	})
}

// A role that asks for what is not watched is repeated after the period.
func TestReadsThatAreNotWatched(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.Write("roles/stall/tasks/main.yml", `[{ansible.builtin.include_tasks: "{{ ansible_operator_meta.name }}.yml"}]`)
	tests := map[string]struct{ tasks, want string }{
		"unknown-kind": {`
- name: look for tents
  kubernetes.core.k8s_info: {api_version: camp.example.com/v1, kind: Tent, namespace: "{{ ansible_operator_meta.namespace }}"}
  register: tents
- ansible.builtin.assert: {that: not tents.api_found}
`, "the task look for tents asks for a kind that the cluster lacks"},
		"cluster": {`
- name: look elsewhere
  kubernetes.core.k8s_info: {context: operon, api_version: v1, kind: ConfigMap, namespace: "{{ ansible_operator_meta.namespace }}", name: prices}
`, "the task look elsewhere chooses a cluster"},
		"cluster-by-default": {`
- module_defaults: {kubernetes.core.k8s_info: {context: operon}}
  block:
  - name: look elsewhere
    kubernetes.core.k8s_info: {api_version: v1, kind: ConfigMap, namespace: "{{ ansible_operator_meta.namespace }}", name: prices}
`, "the task look elsewhere chooses a cluster"},
	}
	for name, test := range tests {
		m.Write("roles/stall/tasks/"+name+".yml", test.tasks)
		m.Add(name, nil)
	}
	m.Start()
	for name, test := range tests {
		m.AwaitReady(name)
		if open := m.StatusOf(name).LastRun.Open; open != test.want {
			t.Errorf("the run of %s is open because of %q, want %q", name, open, test.want)
		}
	}
}

// The role of the finalizer is repeated until it no longer asks for it, and the object exists until then. An object that only
// has the finalizer of Operator SDK, because it was deleted before the operator started, is finalized, too.
func TestFinalizerIsRepeated(t *testing.T) {
	t.Parallel()
	m := newMarketWith(t, func() *ansible.Engine { return &ansible.Engine{WithoutOwners: true} })
	m.Write("watches.yaml", `
- group: market.example.com
  version: v1
  kind: Stall
  role: stall
  finalizer: {name: market.example.com/close, vars: {state: absent}}
`)
	m.Write("roles/stall/tasks/main.yml", `
- when: state | default('present') == 'absent'
  block:
  - kubernetes.core.k8s_info: {api_version: v1, kind: ConfigMap, namespace: "{{ ansible_operator_meta.namespace }}", name: "{{ ansible_operator_meta.name }}"}
    register: before
  - kubernetes.core.k8s:
      definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ ansible_operator_meta.name }}", namespace: "{{ ansible_operator_meta.namespace }}"}, data: {rounds: "{{ (before.resources[0].data.rounds if before.resources else '') + 'x' }}"}}
  - operator_sdk.util.requeue_after: {time: 1s}
    when: before.resources | length == 0 or before.resources[0].data.rounds != 'xx'
`)
	sdks := m.New("sdks", nil)
	sdks.SetFinalizers([]string{"market.example.com/close"})
	m.Must(m.Create(t.Context(), sdks))
	m.Must(m.Delete(t.Context(), sdks))
	stall := m.Add("one", nil)
	m.Start()
	m.AwaitReady("one")
	m.Must(m.Delete(t.Context(), stall))
	m.EventuallyGone(stall)
	m.EventuallyGone(sdks)
	for _, name := range []string{"one", "sdks"} {
		if rounds := m.Data(name)["rounds"]; rounds != "xxx" {
			t.Errorf("the finalizer of %s ran in the rounds %q, want xxx", name, rounds)
		}
	}
}

// The variable of the whole object has the fields of the status that the role writes.
func TestOwnStatus(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.Write("roles/stall/tasks/main.yml", `
- kubernetes.core.k8s:
    definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: "{{ ansible_operator_meta.namespace }}"}, data: {before: "{{ (_market_example_com_stall.status | default({}, true)).color | default('none') }}"}}
- operator_sdk.util.k8s_status:
    api_version: market.example.com/v1
    kind: Stall
    name: one
    namespace: "{{ ansible_operator_meta.namespace }}"
    status: {color: "{{ awning_color }}"}
`)
	m.Add("one", map[string]any{"awningColor": "blue"})
	m.Start()
	m.EventuallyData("one", "before", "none")
	m.AwaitReady("one")
	m.SetSpec("one", `{"awningColor":"green"}`)
	m.EventuallyData("one", "before", "blue")
}

// A run depends on the labels and annotations of its custom resource if it uses them, and not on those that it writes itself.
func TestOwnMetadata(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ read, labels string }{
		"by the variable": {"[]", "_market_example_com_stall.metadata.labels"},
		"by a task": {`
- kubernetes.core.k8s_info: {api_version: market.example.com/v1, kind: Stall, namespace: "{{ ansible_operator_meta.namespace }}", name: one}
  register: own
`, "own.resources[0].metadata.labels"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMarket(t)
			m.Write("roles/stall/tasks/read.yml", test.read)
			m.Write("roles/stall/tasks/main.yml", `
- ansible.builtin.import_tasks: read.yml
- ansible.builtin.tempfile: {}
  register: mark
- kubernetes.core.k8s:
    definition: {apiVersion: market.example.com/v1, kind: Stall, metadata: {name: one, namespace: "{{ ansible_operator_meta.namespace }}", annotations: {mark: "{{ mark.path }}"}}}
- kubernetes.core.k8s:
    definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: "{{ ansible_operator_meta.namespace }}"}, data: {team: "{{ (`+test.labels+` | default({}, true)).team | default('none') }}"}}
`)
			stall := m.Add("one", nil)
			seen, _ := m.Start()
			m.EventuallyData("one", "team", "none")
			m.AwaitReady("one")
			m.Must(m.Patch(t.Context(), stall, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"team":"blue"}}}`))))
			m.EventuallyData("one", "team", "blue")
			m.AwaitReady("one")
			m.Quiet(seen)
			if open := m.StatusOf("one").LastRun.Open; open != "" {
				t.Errorf("the run counts as open: %s", open)
			}
		})
	}
}

// A dry run runs no role, and says that it would.
func TestDryRun(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.Add("one", nil)
	shown := make(chan operon.Preview, 10)
	m.DryRun = func(p operon.Preview) { shown <- p }
	seen, _ := m.Start()
	if got, want := localtest.Receive(t, "the preview", shown).Message, "role stall would be run: it has not run yet"; got != want {
		t.Errorf("the preview says %q, want %q", got, want)
	}
	if writes := seen.Writes(); len(writes) > 0 {
		t.Errorf("the dry run wrote %q", writes)
	}
}

// A role may read an object that the operator may not watch. Its run is repeated after the period, and on any reconcile if the
// object has changed.
func TestReadWithoutWatch(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.Connection = m.limited(
		rbacv1.PolicyRule{APIGroups: []string{"", "events.k8s.io", "market.example.com", "coordination.k8s.io"}, Resources: []string{"configmaps", "events", "stalls", "stalls/status", "stalls/finalizers", "leases"}, Verbs: []string{"*"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}},
	)
	m.Write("roles/stall/tasks/main.yml", `
- kubernetes.core.k8s_info: {api_version: v1, kind: Secret, namespace: "{{ ansible_operator_meta.namespace }}", name: prices}
  register: prices
- kubernetes.core.k8s:
    definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: "{{ ansible_operator_meta.namespace }}"}, data: {price: "{{ prices.resources[0].data.price | b64decode if prices.resources else 'none' }}"}}
`)
	stall := m.Add("one", nil)
	seen, _ := m.Start()
	m.EventuallyData("one", "price", "none")
	m.AwaitReady("one")
	m.Quiet(seen)
	m.Must(m.Create(t.Context(), &corev1.Secret{ObjectMeta: m.Named("prices"), StringData: map[string]string{"price": "5"}}))
	m.Must(m.Patch(t.Context(), stall, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"look":"again"}}}`))))
	m.EventuallyData("one", "price", "5")
	m.AwaitReady("one")
}

// limited returns the connection of a user who has only these permissions, in the namespace.
func (m *market) limited(rules ...rbacv1.PolicyRule) *rest.Config {
	m.Helper()
	const user = "limited"
	m.Must(m.Create(m.Context(), &rbacv1.Role{ObjectMeta: m.Named(user), Rules: rules}))
	m.Must(m.Create(m.Context(), &rbacv1.RoleBinding{
		ObjectMeta: m.Named(user), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}))
	config := rest.CopyConfig(m.Config)
	config.Impersonate.UserName = user
	return config
}

// A run leaves no temporary files, an asynchronous task that outlives it does not stay in the process table, and stopping the operator removes its files.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	mark := filepath.Join(t.TempDir(), "on")
	m.Must(os.WriteFile(mark, nil, 0o600))
	m.Write("roles/stall/tasks/main.yml", `
- ansible.builtin.shell: while test -e `+mark+`; do sleep 0.1; done
  async: 600
  poll: 0
- ansible.builtin.shell: echo $(ps -o ppid= -p $(ps -o sid= -p $$))
  register: worker
- ansible.builtin.set_fact: {tmp: "{{ lookup('env', 'TMPDIR') }}", prices: "{{ lookup('kubernetes.core.k8s', api_version='v1', kind='ConfigMap', namespace=ansible_operator_meta.namespace, resource_name='prices') }}"}
- ansible.builtin.lineinfile: {path: `+mark+`-lines, line: a, create: true}
- kubernetes.core.k8s:
    definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: "{{ ansible_operator_meta.namespace }}"}, data: {worker: "{{ worker.stdout }}", tmp: "{{ tmp }}"}}
`)
	m.Add("one", nil)
	_, stop := m.Start()
	m.AwaitReady("one")
	data := m.Data("one")
	worker := strings.TrimSpace(data["worker"])
	m.Eventually("the worker has the task as its child", func(context.Context) error {
		if children, err := childrenOf(worker); err != nil || len(children) == 0 {
			return fmt.Errorf("the process %s has the children %v: %v", worker, children, err)
		}
		return nil
	})
	files, err := os.ReadDir(data["tmp"])
	m.Must(err)
	for _, file := range files {
		if name := file.Name(); strings.HasPrefix(name, "tmp") || strings.HasPrefix(name, "ansible-moduletmp") {
			t.Errorf("the run has left the file %s", name)
		}
	}
	m.Must(os.Remove(mark))
	m.Eventually("the worker has no child", func(context.Context) error {
		children, err := childrenOf(worker)
		if err == nil && len(children) > 0 {
			err = fmt.Errorf("the process %s has the children %v", worker, children)
		}
		return err
	})
	stop()
	if _, err := os.Stat(data["tmp"]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s exists: %v", data["tmp"], err)
	}
}

// childrenOf returns the IDs of the children of a process.
func childrenOf(pid string) ([]string, error) {
	content, err := os.ReadFile(filepath.Join("/proc", pid, "task", pid, "children"))
	return strings.Fields(string(content)), err
}

// Custom resources and objects that Operator SDK's Ansible operator made are taken over: nothing is created again or deleted.
func TestTakesOver(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.Write("watches.yaml", `
- group: market.example.com
  version: v1
  kind: Stall
  role: stall
  finalizer: {name: market.example.com/close, role: close}
`)
	m.Write("roles/close/tasks/main.yml", `[]`)
	stall := m.New("one", map[string]any{"awningColor": "blue"})
	stall.SetFinalizers([]string{"market.example.com/close"})
	m.Must(m.Create(t.Context(), stall))
	m.Must(m.Status().Patch(t.Context(), stall, client.RawPatch("application/merge-patch+json", []byte(`{"status": {"conditions": [
		{"type": "Successful", "status": "True", "reason": "Successful", "message": "Last reconciliation succeeded", "lastTransitionTime": "2026-01-02T03:04:05Z"},
		{"type": "Running", "status": "True", "reason": "Successful", "message": "Awaiting next reconciliation", "lastTransitionTime": "2026-01-02T03:04:05Z",
		 "ansibleResult": {"ok": 4, "changed": 3, "skipped": 1, "failures": 0, "completion": "2026-01-02T03:04:05.000000+00:00"}},
		{"type": "Failure", "status": "False", "reason": "", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"}]}}`))))
	config := &corev1.ConfigMap{ObjectMeta: m.Named("one"), Data: map[string]string{"color": "blue"}}
	config.OwnerReferences = []metav1.OwnerReference{{APIVersion: "market.example.com/v1", Kind: "Stall", Name: "one", UID: stall.GetUID()}}
	m.Must(m.Create(t.Context(), config))
	before := config.UID

	seen, _ := m.Start()
	m.AwaitReady("one")
	m.AwaitCondition("one", "Successful", metav1.ConditionTrue, "Successful")
	m.Quiet(seen)
	m.Must(m.Get(t.Context(), client.ObjectKeyFromObject(config), config))
	if config.UID != before || len(config.OwnerReferences) != 1 {
		t.Errorf("the ConfigMap is %s with the owners %v, want %s with one", config.UID, config.OwnerReferences, before)
	}
	m.Must(m.Get(t.Context(), client.ObjectKeyFromObject(stall), stall))
	if got := stall.GetFinalizers(); len(got) != 1 || got[0] != "operon.dev/cleanup" {
		t.Errorf("the finalizers are %v, want operon.dev/cleanup", got)
	}
	for _, c := range m.StatusOf("one").Conditions {
		if (c.Type == "Successful" || c.Type == "Running") && c.Message == "" {
			t.Errorf("the condition is %+v", c)
		}
	}
	m.Must(m.Delete(t.Context(), stall))
	m.EventuallyGone(stall)
	m.EventuallyGone(config)
}

// A custom resource is not ready before the objects that its run created are, at any time.
func TestReadyWithItsObjects(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.Write("roles/stall/tasks/main.yml", `
- kubernetes.core.k8s:
    definition:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: one, namespace: "{{ ansible_operator_meta.namespace }}"}
      spec:
        selector: {matchLabels: {app: one}}
        template:
          metadata: {labels: {app: one}}
          spec: {nodeSelector: "{{ {'kubernetes.io/os': os} }}", containers: [{name: stall, image: "stall:1"}]}
`)
	m.Write("roles/stall/defaults/main.yml", "os: none\n")
	m.Add("one", nil)
	m.Start()
	m.AwaitCondition("one", "Successful", metav1.ConditionTrue, "Successful")
	localtest.Always(t, 2*time.Second, "the custom resource is not ready", func(context.Context) error {
		if ready := meta.FindStatusCondition(m.StatusOf("one").Conditions, "Ready"); ready == nil || ready.Status != metav1.ConditionFalse {
			return fmt.Errorf("the condition is %+v", ready)
		}
		return nil
	})
	if ready := m.AwaitCondition("one", "Ready", metav1.ConditionFalse, "ChildNotReady"); !strings.Contains(ready.Message, "Deployment") {
		t.Errorf("the condition is %+v", ready)
	}
	m.SetSpec("one", `{"os":"linux"}`)
	m.AwaitReady("one")
	live := &appsv1.Deployment{ObjectMeta: m.Named("one")}
	m.Must(m.Get(t.Context(), client.ObjectKeyFromObject(live), live))
	if live.Status.AvailableReplicas != 1 || live.Status.ObservedGeneration != live.Generation {
		t.Errorf("the Deployment is not ready: %+v", live.Status)
	}
}
