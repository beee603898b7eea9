package ansible_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/local/localtest"
)

const pruning = `
- group: market.example.com
  version: v1
  kind: Stall
  role: stall
  prune: true
`

// counters is a role that makes a ConfigMap for each name, one for the first run only, and one that it finds in a list.
const counters = `
- kubernetes.core.k8s_info: {api_version: v1, kind: ConfigMap, name: once, namespace: "{{ ansible_operator_meta.namespace }}"}
  register: once
- kubernetes.core.k8s_info: {api_version: v1, kind: ConfigMap, namespace: "{{ ansible_operator_meta.namespace }}", label_selectors: [listed=yes]}
  register: listed
- kubernetes.core.k8s:
    definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: once, namespace: "{{ ansible_operator_meta.namespace }}"}}
  when: once.resources | length == 0
- kubernetes.core.k8s:
    definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: listed, labels: {listed: "yes"}, namespace: "{{ ansible_operator_meta.namespace }}"}}
  when: listed.resources | length == 0
- kubernetes.core.k8s:
    definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ item }}", namespace: "{{ ansible_operator_meta.namespace }}"}, data: {name: "{{ item }}"}}
  loop: "{{ counters }}"
- ansible.builtin.fail: {msg: the roof leaks}
  when: leaks | default(false)
`

// With prune, the objects that a run no longer uses are deleted. Those that it reads, by name or in a list, stay, and so does everything
// after a run that failed.
func TestPrune(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.Write("watches.yaml", pruning)
	m.Write("roles/stall/tasks/main.yml", counters)
	m.Add("one", map[string]any{"counters": []any{"fish", "fruit"}})
	_, stop := m.Start()
	m.AwaitReady("one")
	m.SetSpec("one", `{"counters":["fruit"],"leaks":true}`)
	m.AwaitCondition("one", "Successful", metav1.ConditionFalse, "Failed")
	m.exists("fish", "fruit", "once", "listed")

	stop() // what is to be pruned is known after a restart
	seen, _ := m.Start()
	m.SetSpec("one", `{"leaks":false}`)
	m.EventuallyGone(&corev1.ConfigMap{ObjectMeta: m.Named("fish")})
	m.AwaitReady("one")
	m.Quiet(seen)
	m.exists("fruit", "once", "listed")
	listed := &corev1.ConfigMap{ObjectMeta: m.Named("listed")} // is only in a list, and a change of it is no reason to run without end
	m.Must(m.Patch(t.Context(), listed, client.RawPatch(types.MergePatchType, []byte(`{"data":{"changed":"yes"}}`))))
	m.AwaitReady("one")
	m.Quiet(seen)
	m.SetSpec("one", `{"counters":["bread"]}`)
	m.EventuallyGone(&corev1.ConfigMap{ObjectMeta: m.Named("fruit")})
	m.EventuallyData("bread", "name", "bread")
	m.exists("once", "listed")
}

// counted is a role that makes a ConfigMap for each name, with the name of the object.
const counted = `
- kubernetes.core.k8s:
    definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ ansible_operator_meta.name }}-{{ item }}", namespace: "{{ ansible_operator_meta.namespace }}"}, data: {name: "{{ item }}"}}
  loop: "{{ counters }}"
`

// Nothing is deleted if the record of what a run used is not complete: a request failed, or a list cannot be watched. The same holds for a run that asks
// to be repeated.
func TestPruneNeedsACompleteRecord(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.Write("watches.yaml", pruning)
	m.Write("roles/stall/tasks/main.yml", counted)
	tests := map[string]string{
		"complete":       `ansible.builtin.debug: {msg: nothing}`,
		"all-namespaces": `kubernetes.core.k8s_info: {api_version: v1, kind: ConfigMap}`,
		"request-fails":  `kubernetes.core.k8s_info: {api_version: v1, kind: ConfigMap, namespace: "{{ ansible_operator_meta.namespace }}", label_selectors: ["=="]}`,
		"repetition":     `operator_sdk.util.requeue_after: {time: 1h}`,
	}
	for name, task := range tests {
		m.Write("roles/stall/tasks/"+name+".yml", "- "+task+"\n  ignore_errors: true\n")
		m.Add(name, map[string]any{"counters": []any{"fish"}})
	}
	m.Start()
	for name := range tests {
		m.AwaitReady(name)
	}
	m.Write("roles/stall/tasks/main.yml", counted+"- ansible.builtin.include_tasks: \"{{ ansible_operator_meta.name }}.yml\"\n")
	for name := range tests {
		m.SetSpec(name, `{"counters":["fruit"]}`)
	}
	for name := range tests {
		m.EventuallyData(name+"-fruit", "name", "fruit")
		m.AwaitReady(name)
		if name == "complete" {
			m.EventuallyGone(&corev1.ConfigMap{ObjectMeta: m.Named(name + "-fish")})
			continue
		}
		m.exists(name+"-fish", name+"-fruit")
	}
}

// Nothing is deleted of a kind that is not recorded.
func TestPruneLeavesIgnoredKinds(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.Write("watches.yaml", pruning)
	m.Write("roles/stall/tasks/main.yml", counters)
	m.Add("one", map[string]any{"counters": []any{"fish"}})
	_, stop := m.Start()
	m.AwaitReady("one")
	stop()
	m.Write("watches.yaml", pruning+"  blacklist: [{group: '', version: v1, kind: ConfigMap}]\n")
	m.SetSpec("one", `{"counters":["fruit"]}`)
	m.Start()
	m.EventuallyData("fruit", "name", "fruit")
	m.AwaitReady("one")
	m.exists("fish", "fruit")
}

// An object that belongs to someone else by now is not pruned.
func TestPruneLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.Write("watches.yaml", pruning)
	m.Write("roles/stall/tasks/main.yml", counters)
	m.Add("one", map[string]any{"counters": []any{"fish", "fruit"}})
	_, stop := m.Start()
	m.AwaitReady("one")
	stop()
	fish := &corev1.ConfigMap{ObjectMeta: m.Named("fish")}
	m.Must(m.Get(t.Context(), client.ObjectKeyFromObject(fish), fish))
	fish.OwnerReferences = nil
	m.Must(m.Update(t.Context(), fish))
	m.SetSpec("one", `{"counters":["bread"]}`)
	seen, _ := m.Start()
	m.EventuallyGone(&corev1.ConfigMap{ObjectMeta: m.Named("fruit")})
	m.AwaitReady("one")
	m.Quiet(seen)
	m.exists("fish", "bread")
}

// Without prune, nothing is deleted.
func TestNoPruneByDefault(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	m.Write("roles/stall/tasks/main.yml", counters)
	m.Add("one", map[string]any{"counters": []any{"fish"}})
	seen, _ := m.Start()
	m.AwaitReady("one")
	m.SetSpec("one", `{"counters":["fruit"]}`)
	m.EventuallyData("fruit", "name", "fruit")
	m.AwaitReady("one")
	m.Quiet(seen)
	m.exists("fish", "fruit")
}

// exists fails the test if one of the ConfigMaps does not exist.
func (m *market) exists(names ...string) {
	m.Helper()
	localtest.Eventually(m.T, "the ConfigMaps exist", func(ctx context.Context) error {
		for _, name := range names {
			if err := m.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: name}, &corev1.ConfigMap{}); err != nil {
				return err
			}
		}
		return nil
	})
}
