package up_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/up"
)

func TestOnceEndsWhenEverySampleIsReady(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var objects []*unstructured.Unstructured
	got := f.once(t, func(o *up.Options) {
		o.Print = func(samples []*unstructured.Unstructured) error { objects = samples; return nil }
	})
	if got.err != nil {
		t.Fatalf("%v\n%s", got.err, got.stderr)
	}
	if len(objects) != 1 || got.stdout != "" {
		t.Fatalf("got %d samples, printed %s", len(objects), got.stdout)
	}
	if size, _, _ := unstructured.NestedInt64(objects[0].Object, "status", "size"); size != 3 {
		t.Errorf("got %v", objects[0])
	}
	if err := lacks(got.stderr, "installed 1 CustomResourceDefinition and 1 Role", "ServiceAccount "+f.name+"-system/"+f.name, "operator built", "ready after"); err != nil {
		t.Error(err)
	}
	f.noOperator(t)
	// A second run, when everything exists already, prints text.
	again := f.once(t, nil)
	if err := lacks(again.stdout, "Gadget "+f.env.Namespace+"/one  Ready", "all made", "└─ ConfigMap one"); err != nil || again.err != nil {
		t.Errorf("%v, %v", again.err, err)
	}
}

func TestOnceLeavesNoCredentials(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if got := f.once(t, nil); got.err != nil {
		t.Fatal(got.err)
	}
	for _, name := range []string{"token", "kubeconfig"} {
		found, err := filepath.Glob(filepath.Join(stateHome(t), "up", "*", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			if content, err := os.ReadFile(file); err == nil && strings.Contains(string(content), f.name) {
				t.Errorf("%s is there", file)
			}
		}
	}
}

// TestOnceSaysWhatIsWrong covers errors of authors in a project that can be read. Each must be reported with its cause, and must leave no
// operator running.
func TestOnceSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file, old, new string
		want           []string
	}{
		"an unknown field": {"config/samples/gadget.yaml", "size: 3", "sizee: 3", []string{`config/samples/gadget.yaml:7: unknown field "spec.sizee"`}},
		"a bad value":      {"config/samples/gadget.yaml", "size: 3", "size: 10", []string{"config/samples/gadget.yaml:7: spec.size: Invalid value", "less than or equal to 9"}},
		"an unknown kind":  {"config/samples/gadget.yaml", "kind: Gadget", "kind: Gizmo", []string{"config/samples/gadget.yaml:1", `"Gizmo"`}},
		"a refused kind":   {"config/crd/gadgets.yaml", "type: integer", "type: intger", []string{"CustomResourceDefinition gadgets.", "config/crd/gadgets.yaml:25:", `Unsupported value: "intger"`}},
		"no compilation":   {"main.go", "func main() {", "func main() {\n\tx := 1", []string{"the operator does not compile:\n", "./main.go:45:2: declared and not used: x"}},
		"a panic":          {"main.go", "func main() {", "func main() {\n\tpanic(`ouch`)", []string{"the operator exited with code 2", "panic: ouch", "main.go:45"}},
		"an exit":          {"main.go", "func main() {", "func main() {\n\tprintln(`no luck`); os.Exit(7)", []string{"the operator exited with code 7", "no luck"}},
		"a missing rule": {"config/rbac/role.yaml", "resources: [configmaps]", "resources: [secrets]", []string{
			"not ready after", "Gadget", "the operator has not written its status yet", "the operator lacks permissions; add to the rules in config/rbac/role.yaml:",
			"- apiGroups: [\"\"]\n      resources: [\"configmaps\"]\n      verbs: [\"patch\"]",
		}},
		"no report": {"config/samples/gadget.yaml", "size: 3", "report: false", []string{"not ready after", "Gadget", "the operator has not written its status yet", "operator.log"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.edit(t, test.file, test.old, test.new)
			f.onceFails(t, test.want...)
			f.noOperator(t)
		})
	}
}

// TestAClusterThatDoesNotAnswerIsNamed uses a server that accepts connections and does not answer.
func TestAClusterThatDoesNotAnswerIsNamed(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	f := newFixture(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	address := listener.Addr().String()
	testaid.Write(t, kubeconfig, "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: 'https://"+address+"'}}]\ncontexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n")
	started := time.Now()
	got := f.once(t, func(o *up.Options) { o.Where = up.Where{Kubeconfig: kubeconfig} })
	if got.err == nil {
		t.Fatal("no error")
	}
	if err := lacks(got.err.Error(), "the cluster at https://"+address+" does not answer"); err != nil {
		t.Error(err)
	}
	if took := time.Since(started); took >= patience {
		t.Errorf("it took %s", took)
	}
}

// TestARoleThatIsTakenOutOfTheProjectIsTakenBack: an operator that lacks a Role must not pass because its Role from an
// earlier run remained in the cluster.
func TestARoleThatIsTakenOutOfTheProjectIsTakenBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.edit(t, "config/rbac/role.yaml", "- apiGroups: [\"\"]", "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: children\n  namespace: "+f.env.Namespace+"\nrules:\n- apiGroups: [\"\"]")
	if got := f.once(t, nil); got.err != nil {
		t.Fatal(got.err)
	}
	f.edit(t, "config/rbac/role.yaml", "kind: Role\n", "kind: ClusterRole\n")
	f.edit(t, "config/rbac/role.yaml", "children", "people-editor-role") // not the operator's
	f.edit(t, "config/samples/gadget.yaml", "size: 3", "size: 4")
	f.onceFails(t, "the operator lacks permissions", `resources: ["configmaps"]`)
}

// A changed definition that breaks an object stored by a user is not applied, unless this is requested. The sample is part of
// the project, and changes with it.
func TestADefinitionThatBreaksStoredObjectsIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if got := f.once(t, nil); got.err != nil {
		t.Fatalf("%v\n%s", got.err, got.stderr)
	}
	stored := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": f.group + "/v1", "kind": "Gadget", "metadata": map[string]any{"name": "stored"}, "spec": map[string]any{"size": int64(8)},
	}}
	if _, err := f.gadgets(t).Create(t.Context(), stored, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.edit(t, "config/crd/gadgets.yaml", "maximum: 9", "maximum: 2")
	f.edit(t, "config/samples/gadget.yaml", "size: 3", "size: 2")
	if got := f.once(t, nil); got.err != nil {
		t.Fatalf("a value that may stay as it is: %v\n%s", got.err, got.stderr)
	}
	f.edit(t, "config/crd/gadgets.yaml", "      openAPIV3Schema:\n", "      openAPIV3Schema:\n        x-kubernetes-validations:\n        - rule: self.spec.size <= 2\n")
	got := f.once(t, nil)
	if got.err == nil {
		t.Fatal("no error")
	}
	if err := lacks(got.err.Error(), "--unsafe-crds", "BREAKS object-invalid v1: ", "1 object: "+f.env.Namespace+"/stored"); err != nil {
		t.Error(err)
	}
	if err := lacks(got.err.Error(), "/one"); err == nil {
		t.Errorf("the sample is told: %v", got.err)
	}
	if got := f.once(t, func(o *up.Options) { o.UnsafeCRDs = true }); got.err != nil {
		t.Errorf("%v\n%s", got.err, got.stderr)
	}
	f.edit(t, "config/crd/gadgets.yaml", "self.spec.size <= 2", "self.spec.size <= 9") // otherwise no finalizer could be removed from the object
	if got := f.once(t, nil); got.err != nil {
		t.Errorf("%v\n%s", got.err, got.stderr)
	}
}
