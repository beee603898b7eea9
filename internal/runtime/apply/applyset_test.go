package apply_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
	"github.com/operon-framework/operon/local"
)

func withSecret(b *boxtest.Box, out *operon.Composition) error {
	out.Child(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: b.Name}})
	return boxtest.Copies(b, out)
}

func TestKindDroppedByANewerVersionIsPruned(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	_, stop := w.Run(boxtest.ComposeFunc(withSecret))
	b := w.Box("older", map[string]string{"a": "1"})
	w.IsReady(b)
	stop()
	w.Run(boxtest.ComposeFunc(boxtest.Copies))
	w.Gone(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: b.Name, Namespace: w.Namespace}})
	w.Event("Pruned", "Secret older")
	w.IsReady(b)
}

// TestKubectlUnderstandsTheSet checks that kubectl does not change a set that another tool manages, and that it prunes exactly
// this set if an annotation states that kubectl manages it.
func TestKubectlUnderstandsTheSet(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	_, stop := w.Run(boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		out.Child(boxtest.ConfigMap(b.Name+"-other", nil), operon.After(boxtest.ConfigMap(b.Name, nil)))
		return boxtest.Copies(b, out)
	}))
	b := w.Box("set", nil)
	w.IsReady(b)
	stop()
	manifest := filepath.Join(t.TempDir(), "one.yaml")
	w.Must(os.WriteFile(manifest, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: set}\n"), 0o600))
	if output := w.kubectlApplySet(manifest); !strings.Contains(output, `is managed by tooling "box-operator" instead of "kubectl"`) {
		t.Errorf("kubectl says %s", output)
	}
	w.Change(b, func() { b.Annotations["applyset.kubernetes.io/tooling"] = "kubectl/v1" })
	output := w.kubectlApplySet(manifest)
	if !strings.Contains(output, "configmap/set-other pruned") || strings.Count(output, "pruned") != 1 {
		t.Errorf("kubectl says %s", output)
	}
	w.Change(b, func() { b.Finalizers = nil })
}

func (w *fixture) kubectlApplySet(manifest string) string {
	w.Helper()
	binary, err := local.Binary(w.Context(), os.Stderr)
	w.Must(err)
	command := exec.CommandContext(w.Context(), binary, "kubectl", "--kubeconfig", w.Kubeconfig, "--namespace", w.Namespace,
		"apply", "--server-side", "--force-conflicts", "--prune", "--applyset=boxes.test.operon.dev/set", "-f", manifest)
	command.Env = append(os.Environ(), "KUBECTL_APPLYSET=true")
	output, err := command.CombinedOutput()
	w.Logf("kubectl: %v", err)
	return string(output)
}
