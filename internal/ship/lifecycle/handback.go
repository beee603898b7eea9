package lifecycle

import (
	"cmp"
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/olm/handback"
	"github.com/operon-framework/operon/internal/tools/up"
)

// deploymentName is the name of the manager and of its Deployment.
const deploymentName = "olm"

// handBack stops the manager, so that it does not mark objects again, and hands its operators back. The Deployment stays without pods until it is
// removed: installing the manager again undoes everything.
func handBack(ctx context.Context, options UninstallOptions) error {
	client, config, err := connect(ctx, options.Where, "operon-olm")
	if err != nil {
		return err
	}
	if err := handback.Check(ctx, client); err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	if options.DryRun {
		return nil
	}
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeoutCause(ctx, cmp.Or(options.Timeout, timing.stop), fmt.Errorf("the manager did not stop"))
	defer cancel()
	namespace := cmp.Or(options.Namespace, deploymentName+"-system")
	err = stop(bounded, typed, namespace)
	if apierrors.IsNotFound(err) { // it runs elsewhere, or an interrupted command has removed it already
		return gone(ctx, client, namespace)
	}
	if err != nil {
		return err
	}
	changed, err := handback.Run(ctx, client)
	if err != nil {
		return fmt.Errorf("%w\nrun the command again to continue, or `operon olm install` to keep the manager", err)
	}
	if options.Progress != nil {
		fmt.Fprintf(options.Progress, "handed %s back\n", plural.Count(changed, "object"))
	}
	return nil
}

// gone returns an error if a manager that was not found may still run: it would mark the objects again.
func gone(ctx context.Context, client *kube.Client, namespace string) error {
	pending, err := handback.Pending(ctx, client)
	if err != nil || !pending {
		return err
	}
	return fmt.Errorf("nothing was changed: there is no Deployment %s in the namespace %s, and objects still belong to the manager: name its namespace with --namespace, or, if `operon olm up` runs it, stop that and run `operon olm install` first",
		deploymentName, namespace)
}

// stop scales the manager to zero and waits until its pods are gone. The error says if there is no manager: see apierrors.IsNotFound.
func stop(ctx context.Context, client kubernetes.Interface, namespace string) error {
	deployment, err := client.AppsV1().Deployments(namespace).Patch(ctx, deploymentName, types.MergePatchType, []byte(`{"spec":{"replicas":0}}`), metav1.PatchOptions{FieldManager: "operon-olm"})
	if err != nil {
		return fmt.Errorf("stop the manager: %w", err)
	}
	selector := metav1.FormatLabelSelector(deployment.Spec.Selector)
	left := 0
	err = wait.PollUntilContextCancel(ctx, timing.interval, true, func(ctx context.Context) (bool, error) {
		pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return false, fmt.Errorf("list the pods of the manager: %w", err)
		}
		left = len(pods.Items)
		return left == 0, nil
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("stop the manager: %d of its pods are left: %w", left, context.Cause(ctx))
	}
	return err
}

// Alone returns an error if the Operator Lifecycle Manager (OLM) runs in the cluster: both would change the same objects.
func Alone(ctx context.Context, where up.Where) error {
	client, _, err := connect(ctx, where, "")
	if err != nil {
		return err
	}
	found, err := client.List(ctx, appsv1.SchemeGroupVersion.WithResource("deployments"), metav1.NamespaceAll, "")
	if err != nil {
		return err
	}
	for _, one := range found {
		replicas, set, _ := unstructured.NestedInt64(one.Object, "spec", "replicas")
		if (one.GetName() == "olm-operator" || one.GetName() == "catalog-operator") && (replicas > 0 || !set) {
			return fmt.Errorf("Deployment %[1]s/%[2]s runs the Operator Lifecycle Manager, which must not run beside this one: `kubectl scale deployment %[2]s -n %[1]s --replicas 0`, and see docs/olm/coming-from-olm.md",
				one.GetNamespace(), one.GetName())
		}
	}
	return nil
}
