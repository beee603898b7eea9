package bundletest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// behavior is the variable that makes this test binary an operator of Gadgets. Its value is a list of bad habits.
const behavior = "GADGET_OPERATOR"

// gadgetFinalizer is the finalizer of the operator.
const gadgetFinalizer = "gadgets.example.com/cleanup"

var (
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	pods        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

// gadgets is an operator: it keeps a Deployment for each Gadget, and sets the condition Ready.
type gadgets struct {
	client    dynamic.Interface
	resource  schema.GroupVersionResource
	namespace string
	habits    []string
}

func runGadgets(habits string) error {
	o := &gadgets{habits: strings.Split(habits, ",")}
	if o.has("crashes") {
		fmt.Println("no gadgets today")
		os.Exit(3)
	}
	for _, arg := range os.Args[1:] {
		if group, found := strings.CutPrefix(arg, "--group="); found {
			o.resource = schema.GroupVersionResource{Group: group, Version: os.Getenv("GADGET_VERSION"), Resource: "gadgets"}
		}
	}
	o.namespace = os.Getenv("WATCH_NAMESPACE")
	if o.resource.Version == "" || o.namespace == "" || os.Getenv("PATH") == "/nowhere" || os.Getenv("GREETING") != "hello "+os.Getenv("POD_NAMESPACE") {
		return fmt.Errorf("the arguments are %q, the environment is %q", os.Args, os.Environ())
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	if o.client, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	ctx := context.Background()
	if o.has("restarts") {
		if err := o.client.Resource(pods).Namespace(o.namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=gadget"}); err != nil {
			return err
		}
	}
	for range time.Tick(100 * time.Millisecond) {
		if err := o.round(ctx); err != nil {
			fmt.Println(err)
		}
	}
	return nil
}

func (o *gadgets) has(habit string) bool { return slices.Contains(o.habits, habit) }

// round reconciles all Gadgets once.
func (o *gadgets) round(ctx context.Context) error {
	objects := o.client.Resource(o.resource).Namespace(o.namespace)
	list, err := objects.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		if err := o.reconcile(ctx, objects, &list.Items[i]); err != nil && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

func (o *gadgets) reconcile(ctx context.Context, objects dynamic.ResourceInterface, gadget *unstructured.Unstructured) error {
	if gadget.GetDeletionTimestamp() != nil {
		if o.has("hoards") || len(gadget.GetFinalizers()) == 0 {
			return nil
		}
		gadget.SetFinalizers(nil)
		_, err := objects.Update(ctx, gadget, metav1.UpdateOptions{})
		return err
	}
	if len(gadget.GetFinalizers()) == 0 {
		gadget.SetFinalizers([]string{gadgetFinalizer})
		if _, err := objects.Update(ctx, gadget, metav1.UpdateOptions{}); err != nil {
			return err
		}
		return nil
	}
	if err := o.child(ctx, gadget); err != nil && !apierrors.IsForbidden(err) && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if o.has("silent") {
		return nil
	}
	condition := map[string]any{"type": "Ready", "status": "True", "reason": "Built", "message": "built", "lastTransitionTime": "2026-11-26T08:00:00Z"}
	if o.has("slow") {
		condition["status"], condition["message"] = "False", "still building"
	}
	if err := unstructured.SetNestedSlice(gadget.Object, []any{condition}, "status", "conditions"); err != nil {
		return err
	}
	_, err := objects.UpdateStatus(ctx, gadget, metav1.UpdateOptions{})
	return err
}

// child creates the Deployment of a Gadget and, as a bad habit, something without an owner.
func (o *gadgets) child(ctx context.Context, gadget *unstructured.Unstructured) error {
	if o.has("litters") {
		left := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "forgotten"}}}
		if _, err := o.client.Resource(configMaps).Namespace(o.namespace).Create(ctx, left, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	labels := map[string]any{"app": "gadget"}
	child := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": gadget.GetName()},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": []any{map[string]any{"name": "main", "image": "gadget:1"}}}},
		},
	}}
	child.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(gadget, gadget.GroupVersionKind())})
	_, err := o.client.Resource(deployments).Namespace(o.namespace).Create(ctx, child, metav1.CreateOptions{})
	return err
}
