package operontest_test

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/cel"
	"github.com/operon-framework/operon/operontest"
)

// This package has a flag with this name, because the kit's flag must be compatible with it.
var rewrite = flag.Bool("rewrite", false, "write golden files")

// everything composes children with all options.
func everything(l *Lamp, out *operon.Composition) error {
	base, secret := config(l.Name+"-base", "watts", "9"), &corev1.Secret{StringData: map[string]string{"key": "open"}}
	secret.Name = l.Name
	out.Child(deployment(l.Name), operon.After(base, secret), operon.Replace())
	out.Child(base, cel.ReadyWhen("self.data.watts == '9'"), operon.Orphan())
	out.Child(secret, operon.Adopt(), operon.ReadyWhen(func(*unstructured.Unstructured) (bool, string) { return true, "" }))
	if l.Spec.Watts == 0 {
		out.Wait("NoPower", "waits for spec.watts")
	}
	return nil
}

func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"lamp": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "lamp", Image: "lamp:1"}}},
			},
		},
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	operontest.New(compose(everything), addLamp).Golden(t, lamp(0), "testdata/everything.yaml")
}

func TestGoldenShowsTheDifference(t *testing.T) {
	t.Parallel()
	if *rewrite {
		t.Skip("with -rewrite there is no difference")
	}
	file := filepath.Join(t.TempDir(), "lit.yaml")
	desk := operontest.New(lit{}, addLamp)
	fails(t, func(t testing.TB) { desk.Golden(t, lamp(4), file) }, "there is no "+file, "-operontest.rewrite", `watts: "4"`)
	composed, err := desk.Children(t.Context(), lamp(4))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(composed), 0o600); err != nil {
		t.Fatal(err)
	}
	desk.Golden(t, lamp(4), file)
	fails(t, func(t testing.TB) { desk.Golden(t, lamp(5), file) }, `-   watts: "4"`, `+   watts: "5"`, "  kind: ConfigMap")
}

func TestGoldenTellsMistakes(t *testing.T) {
	t.Parallel()
	unknown := &unstructured.Unstructured{}
	unknown.SetGroupVersionKind(schema.GroupVersionKind{Group: "acme.dev", Version: "v1", Kind: "Bulb"})
	unknown.SetName("a")
	for _, test := range []struct {
		name string
		compose
		says string
	}{
		{"two of one name", func(_ *Lamp, out *operon.Composition) error {
			out.Child(config("a", "b", "c"))
			out.Child(config("a", "b", "d"))
			return nil
		}, "DuplicateChild: two children are declared as ConfigMap a"},
		{"a cycle", func(_ *Lamp, out *operon.Composition) error {
			a, b := config("a", "", ""), config("b", "", "")
			out.Child(a, operon.After(b))
			out.Child(b, operon.After(a))
			return nil
		}, "DependencyCycle: children wait for each other: ConfigMap a comes after ConfigMap b comes after ConfigMap a"},
		{"after nothing", func(_ *Lamp, out *operon.Composition) error {
			out.Child(config("a", "", ""), operon.After(config("b", "", "")))
			return nil
		}, "DependencyMissing: ConfigMap a is declared After(ConfigMap b)"},
		{"no kind", func(_ *Lamp, out *operon.Composition) error {
			child := &unstructured.Unstructured{Object: map[string]any{}}
			child.SetName("a")
			out.Child(child)
			return nil
		}, `InvalidChild: child "a" has no kind`},
		{"no name", func(_ *Lamp, out *operon.Composition) error {
			out.Child(config("", "", ""))
			return nil
		}, "InvalidChild: a child of kind ConfigMap has no name"},
		{"an unknown kind", func(_ *Lamp, out *operon.Composition) error {
			out.Child(unknown)
			return nil
		}, "KindMissing: the cluster has no kind Bulb"},
		{"CEL that does not compile", func(_ *Lamp, out *operon.Composition) error {
			out.Child(config("a", "", ""), cel.ReadyWhen("self.("))
			return nil
		}, "InvalidChild: child a: readiness \"self.(\": ERROR"},
		{"an error", func(*Lamp, *operon.Composition) error { return errors.New("no watts") }, "no watts"},
		{"a panic", func(*Lamp, *operon.Composition) error { panic("no watts") }, "Panicked: the operator's code panicked: no watts"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			bad := operontest.New(test.compose, addLamp)
			fails(t, func(t testing.TB) { bad.Golden(t, lamp(1), "testdata/none.yaml") }, test.says)
		})
	}
}

func TestGoldenOfAKindWithoutAType(t *testing.T) {
	t.Parallel()
	bulb := &unstructured.Unstructured{}
	bulb.SetGroupVersionKind(schema.GroupVersionKind{Group: "acme.dev", Version: "v1", Kind: "Bulb"})
	bulb.SetName("a")
	op := operontest.New(compose(func(_ *Lamp, out *operon.Composition) error {
		out.Child(bulb)
		return nil
	}), addLamp).Kind(bulb.GroupVersionKind(), false)
	got, err := op.Children(t.Context(), lamp(1))
	if want := "apiVersion: acme.dev/v1\nkind: Bulb\nmetadata:\n  name: a\n"; err != nil || got != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
}

// goldenFile is the variable with the file for TestGoldenInto, which TestRewrite runs.
const goldenFile = "OPERONTEST_GOLDEN_FILE"

func TestGoldenInto(t *testing.T) {
	t.Parallel()
	file := os.Getenv(goldenFile)
	if file == "" {
		t.Skip("TestRewrite runs it with a file")
	}
	operontest.New(lit{}, addLamp).Golden(t, lamp(4), file)
}

// Both flags write the file, and create its directory if necessary.
func TestRewrite(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"-operontest.rewrite", "-rewrite"} {
		file := filepath.Join(t.TempDir(), "some", "lit.yaml")
		run := func(flags ...string) error {
			test := exec.CommandContext(t.Context(), os.Args[0], append(flags, "-test.run=^TestGoldenInto$")...)
			test.Env = append(os.Environ(), goldenFile+"="+file)
			return test.Run()
		}
		if err := run(); err == nil {
			t.Errorf("without a file and %s the test passes", flag)
		}
		if err := errors.Join(run(flag), run()); err != nil {
			t.Errorf("with %s: %v", flag, err)
		}
		if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), `watts: "4"`) {
			t.Errorf("%s wrote %q (%v)", flag, data, err)
		}
	}
}
