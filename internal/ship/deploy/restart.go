package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/tools/rbac"
)

// restartedAt is the annotation with which kubectl, too, makes a Deployment replace its pods.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

// Restart replaces the pods of a deployment one at a time, and returns when the new ones are ready. The next Run does not
// revert it if it has no other changes.
func Restart(ctx context.Context, target Target) error {
	w, err := findWorkload(ctx, target)
	if err != nil {
		return err
	}
	needs := append(watching(w.namespace), rbac.Permission{Verb: "patch", Group: "apps", Resource: "deployments", Namespace: w.namespace})
	if err := w.cluster.mayAll(ctx, needs); err != nil {
		return err
	}
	now := time.Now().UTC().Format(time.RFC3339Nano)
	body, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": map[string]any{restartedAt: now}}}}})
	if err != nil {
		return err
	}
	if _, err := w.cluster.typed.AppsV1().Deployments(w.namespace).Patch(ctx, w.name, types.StrategicMergePatchType, body, metav1.PatchOptions{FieldManager: "operon-restart"}); err != nil {
		return fmt.Errorf("restart the pods of %s/%s: %w", w.namespace, w.name, err)
	}
	bounded, cancel := context.WithTimeoutCause(ctx, target.timeout(), fmt.Errorf("not ready after %s", target.timeout()))
	defer cancel()
	r := &rollout{cluster: w.cluster, target: target, namespace: w.namespace, name: w.name}
	if err := r.wait(bounded); err != nil {
		return fmt.Errorf("%w\nthe old pods keep running until the new ones are ready", err)
	}
	return nil
}
