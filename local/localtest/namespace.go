package localtest

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// makeNamespace creates the test's namespace.
func (e *Env) makeNamespace(t testing.TB) {
	t.Helper()
	client, err := kubernetes.NewForConfig(e.Config)
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.Namespace}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatalf("create the test's namespace: %v", err)
	}
}

// removeNamespace deletes the namespace and waits until it no longer exists. If it remains, the test fails with the
// message of the namespace controller.
func (e *Env) removeNamespace(t testing.TB) {
	limit, err := patience() // a second is enough unless the machine is overloaded
	if err != nil {
		t.Error(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), limit)
	defer cancel()
	client, err := kubernetes.NewForConfig(e.Config)
	if err != nil {
		t.Error(err)
		return
	}
	namespaces := client.CoreV1().Namespaces()
	if err := namespaces.Delete(ctx, e.Namespace, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Errorf("remove the test's namespace: %v", err)
		return
	}
	if err := endPods(ctx, client, e.Namespace); err != nil {
		t.Errorf("end the test's pods: %v", err)
	}
	err = poll(ctx, func(ctx context.Context) error {
		left, err := namespaces.Get(ctx, e.Namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		return whatIsLeft(left)
	})
	if err != nil {
		t.Errorf("the test's namespace %s is not gone after %s: %v", e.Namespace, limit, err)
	}
}

// endPods deletes a namespace's pods immediately. The namespace controller would wait for half of their grace period,
// 15 seconds, before it checks them again.
func endPods(ctx context.Context, client kubernetes.Interface, namespace string) error {
	var now int64
	err := client.CoreV1().Pods(namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// whatIsLeft describes what blocks the deletion of a namespace.
func whatIsLeft(namespace *corev1.Namespace) error {
	text := "it is being deleted"
	for _, condition := range namespace.Status.Conditions {
		if condition.Status == corev1.ConditionTrue {
			text += "; " + condition.Message
		}
	}
	return fmt.Errorf("%s", text)
}
