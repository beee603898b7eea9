package operon_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/local"
)

func withSecret(b *Box, out *operon.Composition) error {
	out.Child(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: b.Name}})
	return copies(b, out)
}

func TestKindDroppedByANewerVersionIsPruned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, stop := w.run(compose(withSecret))
	b := w.box("older", map[string]string{"a": "1"})
	w.isReady(b)
	stop()
	w.run(compose(copies))
	w.gone(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: b.Name, Namespace: w.Namespace}})
	w.event("Pruned", "Secret older")
	w.isReady(b)
}

// TestKubectlUnderstandsTheSet checks that kubectl does not change a set that another tool manages, and that it prunes exactly
// this set if an annotation states that kubectl manages it.
func TestKubectlUnderstandsTheSet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, stop := w.run(compose(func(b *Box, out *operon.Composition) error {
		out.Child(config(b.Name+"-other", nil), operon.After(config(b.Name, nil)))
		return copies(b, out)
	}))
	b := w.box("set", nil)
	w.isReady(b)
	stop()
	manifest := filepath.Join(t.TempDir(), "one.yaml")
	w.must(os.WriteFile(manifest, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: set}\n"), 0o600))
	if output := w.kubectlApplySet(manifest); !strings.Contains(output, `is managed by tooling "box-operator" instead of "kubectl"`) {
		t.Errorf("kubectl says %s", output)
	}
	w.change(b, func() { b.Annotations["applyset.kubernetes.io/tooling"] = "kubectl/v1" })
	output := w.kubectlApplySet(manifest)
	if !strings.Contains(output, "configmap/set-other pruned") || strings.Count(output, "pruned") != 1 {
		t.Errorf("kubectl says %s", output)
	}
	w.change(b, func() { b.Finalizers = nil })
}

func (w *world) kubectlApplySet(manifest string) string {
	w.Helper()
	binary, err := local.Binary(w.Context(), os.Stderr)
	w.must(err)
	command := exec.CommandContext(w.Context(), binary, "kubectl", "--kubeconfig", w.Kubeconfig, "--namespace", w.Namespace,
		"apply", "--server-side", "--force-conflicts", "--prune", "--applyset=boxes.test.operon.dev/set", "-f", manifest)
	command.Env = append(os.Environ(), "KUBECTL_APPLYSET=true")
	output, err := command.CombinedOutput()
	w.Logf("kubectl: %v", err)
	return string(output)
}
