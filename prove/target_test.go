package prove

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/prove/report"
	"github.com/operon-framework/operon/internal/prove/workload"
	"github.com/operon-framework/operon/internal/tools/generate/kustomize"
)

// If a target cannot be tested, this is reported before anything is built or started.
func TestLoadTellsFirst(t *testing.T) {
	t.Parallel()
	const project = "testdata/kubebuilder"
	for want, target := range map[string]Target{
		"directory nodir does not exist": {Dir: "nodir"},
		"contains no objects":            {Dir: project, Samples: t.TempDir()},
		"none.yaml":                      {Dir: project, Steps: "none.yaml"},
		"contains no Role":               {Dir: project, RBAC: "testdata/shell/sample.yaml"},
	} {
		built := false
		_, err := target.Load(t.Context(), t.TempDir(), func(report.Standing) { built = true })
		if err == nil || !strings.Contains(err.Error(), want) || built {
			t.Errorf("%+v: %v, built %v", target, err, built)
		}
	}
}

// The Roles of a kustomization have its prefix and its namespace, which is replaced with the operator's own.
func TestLoadKustomizedRoles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"kustomization.yaml": "namespace: web-system\nnamePrefix: web-\nresources: [role.yaml]\npatches:\n- path: patch.yaml\n",
		"role.yaml": `apiVersion: v1
kind: ServiceAccount
metadata: {name: manager, namespace: system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: leader, namespace: system}
rules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: leader, namespace: system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: leader}
subjects: [{kind: ServiceAccount, name: manager, namespace: system}]
`,
		"patch.yaml": `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: leader, namespace: system}
rules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create]}]
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	target := Target{Run: "true", Samples: "testdata/kubebuilder/config/samples", RBAC: dir}
	if _, err := target.Load(t.Context(), t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "run kustomize build") {
		t.Errorf("without kustomize: %v", err)
	}
	target.Kustomize = kustomize.BuildDirectory
	options, err := target.Load(t.Context(), t.TempDir(), nil)
	if err != nil || len(options.Grants) != 1 {
		t.Fatalf("%d grants, %v", len(options.Grants), err)
	}
	grant := options.Grants[0]
	role, err := grant.ReadRole()
	if err != nil || grant.Name != "web-leader" || grant.Namespace != "" || !slices.Contains(role.Rules[0].Verbs, "create") {
		t.Errorf("%+v, rules %+v, %v", grant, role.Rules, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "patch.yaml"), []byte("not a patch"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := target.Load(t.Context(), t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "kustomize build "+dir) {
		t.Errorf("a kustomization that cannot be built: %v", err)
	}
}

// The directory of controller-gen's definitions is found from its parent directory, as in a project.
func TestLoadBases(t *testing.T) {
	t.Parallel()
	options, err := Target{Run: "true", CRDs: "testdata/kubebuilder/config/crd", Samples: "testdata/kubebuilder/config/samples"}.Load(t.Context(), t.TempDir(), nil)
	if err != nil || len(options.CRDs) != 1 || len(options.Samples) != 1 {
		t.Errorf("%d definitions, %d samples, %v", len(options.CRDs), len(options.Samples), err)
	}
}

// The steps in the file of a test are executed.
func TestStepsOfATest(t *testing.T) {
	t.Parallel()
	sample, err := filepath.Abs("testdata/shell/sample.yaml")
	if err != nil {
		t.Fatal(err)
	}
	steps := filepath.Join(t.TempDir(), "steps.yaml")
	text := "workload: a node is lost\nsteps:\n- apply: " + sample + "\n- fail: {how: lost-node, pods: 1}\n- heal: true\n"
	if err := os.WriteFile(steps, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := Test{Samples: sample, Steps: steps}.options(t.TempDir())
	if err != nil || len(options.Workloads) != 1 || len(options.Workloads[0].Steps) != 3 {
		t.Errorf("%+v, %v", options.Workloads, err)
	}
}

// A test can define how long its operator must be quiescent to count as converged.
func TestSettleOfATest(t *testing.T) {
	t.Parallel()
	for settle, want := range map[time.Duration]time.Duration{0: timing.testSettle, 5 * time.Second: 5 * time.Second} {
		options, err := Test{Samples: "testdata/shell/sample.yaml", Settle: settle}.options(t.TempDir())
		if err != nil || options.Settle != want {
			t.Errorf("Settle %s results in %s, want %s: %v", settle, options.Settle, want, err)
		}
	}
}

const hooks = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: checks}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: needed}
`

// Conversions that only the operator registers are noted, too. It is an error if no sample is left.
func TestWithoutConversion(t *testing.T) {
	t.Parallel()
	options, err := Target{Run: "true", Samples: "testdata/shell/sample.yaml", CRDs: "testdata/shell/crd.yaml"}.Load(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, notes, err := options.withoutWebhooks(); len(notes) > 0 || err != nil {
		t.Errorf("without conversion, the notes are %q", notes)
	}
	options.CRDs[0].SetAnnotations(map[string]string{"operon.dev/conversion": "operator"})
	if _, notes, err := options.withoutWebhooks(); err != nil || len(notes) != 1 || !strings.Contains(notes[0], "only its stored version, v1, can be used") {
		t.Errorf("the notes are %q", notes)
	}
	options.Samples[0].SetAPIVersion("shell.operon.dev/v1alpha1")
	options.Config = &rest.Config{Host: "127.0.0.1:1"}
	if _, err := Prove(t.Context(), options); err == nil || !strings.Contains(err.Error(), "no sample has a usable version") || !strings.Contains(err.Error(), "add one in the storage version") {
		t.Errorf("the error is %v", err)
	}
}

// webhook returns a webhook configuration with a rule for a resource.
func webhook(name, group, resource string) *unstructured.Unstructured {
	rule := map[string]any{"apiGroups": []any{group}, "resources": []any{"other", resource}}
	made := &unstructured.Unstructured{Object: map[string]any{"webhooks": []any{map[string]any{}, map[string]any{"rules": []any{rule}}}}}
	made.SetName(name)
	return made
}

// A value that a webhook might have rejected proves nothing about the operator. The values of samples do, and those of users' workloads.
func TestGuessed(t *testing.T) {
	t.Parallel()
	options, err := Target{Run: "true", Samples: "testdata/shell/sample.yaml", CRDs: "testdata/shell/crd.yaml"}.Load(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	sample := options.Samples[0]
	other := sample.DeepCopy()
	other.Object["spec"].(map[string]any)["text"] = "another"
	steps := []workload.Step{{Name: "create", Apply: []*unstructured.Unstructured{sample}}, {Name: "change", Apply: []*unstructured.Unstructured{other}}, {Name: "later"}}
	for name, test := range map[string]struct {
		group, resource string
		step            string
		own             []workload.Workload
		want            bool
	}{
		"sample":        {"shell.operon.dev", "notes", "create", nil, false},
		"other value":   {"shell.operon.dev", "notes", "change", nil, true},
		"afterwards":    {"shell.operon.dev", "notes", "later", nil, true},
		"wildcards":     {"*", "*", "change", nil, true},
		"another kind":  {"shell.operon.dev", "pages", "change", nil, false},
		"another group": {"apps", "notes", "change", nil, false},
		"of a user":     {"shell.operon.dev", "notes", "change", []workload.Workload{{Name: "own", Steps: steps}}, false},
	} {
		s := &session{Options: options}
		s.Webhooks, s.Workloads = []*unstructured.Unstructured{webhook("one", test.group, test.resource)}, test.own
		if got := guessed(workload.Workload{Name: "w", Steps: steps}, test.step, s.isGuess(s.worked())); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A fault during the steps that also run without faults is a failure, although they set other values than the sample.
func TestFaultsAreNoGuesses(t *testing.T) {
	t.Parallel()
	options, err := Target{Run: "true", Samples: "testdata/shell/sample.yaml", CRDs: "testdata/shell/crd.yaml"}.Load(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{Options: options, base: workload.Sample(options.Samples, options.CRDs)}
	s.Webhooks = []*unstructured.Unstructured{webhook("one", "shell.operon.dev", "notes")}
	last := s.base.Steps[len(s.base.Steps)-1].Name
	if guessed(s.base, last, s.isGuess(s.worked())) {
		t.Error("a fault in the workload that runs without faults is a note")
	}
	if !guessed(s.base, last, s.isGuess(s.Samples)) {
		t.Error("what fails without faults after other values than the sample's is a failure")
	}
	deletes := webhook("one", "shell.operon.dev", "notes")
	deletes.Object["webhooks"].([]any)[1].(map[string]any)["rules"].([]any)[0].(map[string]any)["operations"] = []any{"DELETE"}
	s.Webhooks = []*unstructured.Unstructured{deletes}
	if guessed(s.base, last, s.isGuess(s.Samples)) {
		t.Error("a webhook for deletions changes values")
	}
}

// Because of a webhook that is not served, the API server would reject requests.
func TestWithoutWebhooks(t *testing.T) {
	t.Parallel()
	setup := filepath.Join(t.TempDir(), "setup.yaml")
	if err := os.WriteFile(setup, []byte(hooks), 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := Target{Run: "true", Samples: "testdata/shell/sample.yaml", Setup: setup, CRDs: "testdata/shell/crd.yaml"}.Load(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	options.Webhooks = []*unstructured.Unstructured{webhook("defaults", "shell.operon.dev", "notes")}
	options.CRDs[0].Object["spec"].(map[string]any)["conversion"] = map[string]any{"strategy": "Webhook"}
	older := options.Samples[0].DeepCopy()
	older.SetAPIVersion("shell.operon.dev/v1alpha1")
	older.SetName("older")
	options.Samples = append(options.Samples, older)
	left, notes, err := options.withoutWebhooks()
	if err != nil {
		t.Fatal(err)
	}
	if len(left.Samples) != 1 || left.Samples[0].GetName() == "older" || !strings.Contains(strings.Join(notes, "; "), "left out: Note older of v1alpha1") {
		t.Errorf("samples are %v, and the notes %q", left.Samples, notes)
	}
	if len(left.Setup) != 1 || left.Setup[0].GetName() != "needed" || len(options.Setup) != 2 {
		t.Errorf("left are %v of %v", left.Setup, options.Setup)
	}
	if got := strings.Join(notes, "; "); !strings.Contains(got, "in fields of Note is a note") || !strings.Contains(got, "defaults, checks") || !strings.Contains(got, "converts "+options.CRDs[0].GetName()) {
		t.Errorf("the notes are %q", got)
	}
}
