package projecttest_test

import (
	"testing"
	"time"
)

// configMap is a task that creates a ConfigMap.
const configMap = `
- name: write the settings
  k8s:
    definition:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: settings, namespace: '%NAMESPACE%'}
      data: {at: "%VALUE%"}
`

// role makes the role create a ConfigMap in place of a Deployment.
func (f *fixture) role(t *testing.T, namespace, value string) {
	t.Helper()
	f.withoutScenario(t)
	f.write(t, "roles/kiosk/tasks/main.yml", configMap, "%NAMESPACE%", namespace, "%VALUE%", value)
	f.edit(t, "config/rbac/role.yaml", "  - secrets\n", "  - secrets\n  - configmaps\n")
	f.edit(t, "watches.yaml", f.finalizer(), "")
}

// finalizer returns the lines of watches.yaml that make the role run when a custom resource is deleted.
func (f *fixture) finalizer() string {
	return "  finalizer:\n    name: " + f.group + "/finalizer\n    vars:\n      state: absent\n"
}

const own = "{{ ansible_operator_meta.namespace }}"

// A role that writes something else each time it runs is not idempotent.
func TestARoleThatIsNotIdempotent(t *testing.T) {
	t.Parallel()
	f := newAnsible(t)
	f.role(t, own, "{{ lookup('pipe', 'date +%s%N') }}")
	f.failsIn(t, patience, []string{"ok ready", "failed idempotent", "ok deleted"}, "ConfigMap "+f.name+"-test-system/settings was changed: data.at")
}

// A role that fails when it runs a second time is not idempotent.
func TestARoleThatFailsTheSecondTime(t *testing.T) {
	t.Parallel()
	f := newAnsible(t)
	f.role(t, own, "x")
	f.prepend(t, "roles/kiosk/tasks/main.yml", `
- name: look
  k8s_info: {kind: ConfigMap, name: settings, namespace: '`+own+`'}
  register: found
- name: be the first
  fail: {msg: the settings exist}
  when: found.resources and state == 'present'
`)
	f.failsIn(t, patience, []string{"ok ready", "failed idempotent", "ok deleted"}, "the second run failed: the settings exist", `task "be the first"`)
}

// An object in another namespace is not deleted with its custom resource.
func TestAnObjectThatStays(t *testing.T) {
	t.Parallel()
	f := newAnsible(t)
	f.role(t, f.env.Namespace, "x")
	f.failsIn(t, patience, []string{"ok ready", "ok idempotent", "failed deleted"}, "ConfigMap "+f.env.Namespace+"/settings")
}

// A sample that does not become ready is reported with the reason, such as a missing permission, and is deleted.
func TestASampleThatIsNotReady(t *testing.T) {
	t.Parallel()
	f := newAnsible(t)
	f.role(t, own, "x")
	f.edit(t, "roles/kiosk/tasks/main.yml", "kind: ConfigMap", "kind: Secret")
	f.edit(t, "roles/kiosk/tasks/main.yml", "      data: ", "      stringData: ")
	f.edit(t, "config/rbac/role.yaml", "  - secrets\n  - configmaps\n", "  - configmaps\n")
	f.failsIn(t, 20*time.Second, []string{"failed ready", "ok deleted"}, "Kiosk "+f.name+"-test-system/kiosk-sample", `task "write the settings"`, "the operator lacks permissions", `resources: ["secrets"]`)
}

// A sample that the API server rejects is reported with its file and line.
func TestASampleThatIsRejected(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "helm-sdk", "charts.example.com", "till-operator")
	f.edit(t, "config/samples/charts_v1alpha1_till.yaml", "kind: Till", "kind: Tell")
	f.failsIn(t, patience, []string{"failed samples"}, "config/samples/charts_v1alpha1_till.yaml:1", `"Tell"`)
}

// An operator that cannot start fails the first step, and the others do not wait for it.
func TestAnOperatorThatExits(t *testing.T) {
	t.Parallel()
	f := newAnsible(t)
	f.withoutScenario(t)
	f.edit(t, "watches.yaml", "role: /opt/ansible/roles/kiosk", "role: nowhere")
	f.failsIn(t, patience, []string{"failed samples"}, "the operator exited with code 1", "the role nowhere is not found")
}

// A finalizer that fails is reported, and does not keep anything in the cluster.
func TestAFinalizerThatFails(t *testing.T) {
	t.Parallel()
	f := newAnsible(t)
	f.role(t, own, "x")
	f.edit(t, "watches.yaml", "  role: /opt/ansible/roles/kiosk\n", "  role: /opt/ansible/roles/kiosk\n"+f.finalizer())
	f.prepend(t, "roles/kiosk/tasks/main.yml", "\n- name: stay\n  fail: {msg: it must not be deleted}\n  when: state == 'absent'\n")
	f.failsIn(t, 20*time.Second, []string{"ok ready", "ok idempotent", "failed deleted"}, "waits for its finalizer", "it must not be deleted")
}
