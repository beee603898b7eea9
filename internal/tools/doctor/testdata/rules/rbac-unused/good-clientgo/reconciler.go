// Package clientgo uses a clientset, and a kind that it never names.
package clientgo

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/apps/v1"
)

// Count counts objects.
func Count(ctx context.Context, clientset kubernetes.Interface, lister listers.DaemonSetLister) (int, error) {
	nodes, err := clientset.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	set, err := lister.DaemonSets("default").Get("agent")
	if err != nil {
		return 0, err
	}
	return len(nodes.Items) + int(set.Status.NumberReady), nil
}
