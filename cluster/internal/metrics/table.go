package metrics

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/metrics/pkg/apis/metrics"
)

// table converts a resource to the table that kubectl get shows.
type table struct {
	cells func(runtime.Object) ([]any, error)
}

var columns = []metav1.TableColumnDefinition{
	{Name: "Name", Type: "string", Format: "name", Description: "Name of what is measured"},
	{Name: "CPU", Type: "string", Description: "Processors in use"},
	{Name: "Memory", Type: "string", Description: "Working set"},
	{Name: "Window", Type: "string", Description: "Time that the use of processors is the mean of"},
}

// ConvertToTable implements rest.TableConvertor.
func (t table) ConvertToTable(_ context.Context, object, _ runtime.Object) (*metav1.Table, error) {
	result := &metav1.Table{ColumnDefinitions: columns}
	add := func(one runtime.Object) error {
		cells, err := t.cells(one)
		if err != nil {
			return err
		}
		result.Rows = append(result.Rows, metav1.TableRow{Cells: cells, Object: runtime.RawExtension{Object: one}})
		return nil
	}
	if meta.IsListType(object) {
		return result, meta.EachListItem(object, add)
	}
	return result, add(object)
}

func nodeCells(object runtime.Object) ([]any, error) {
	node, ok := object.(*metrics.NodeMetrics)
	if !ok {
		return nil, fmt.Errorf("%T is not what a node uses", object)
	}
	return cells(node.Name, node.Usage, node.Window), nil
}

func podCells(object runtime.Object) ([]any, error) {
	pod, ok := object.(*metrics.PodMetrics)
	if !ok {
		return nil, fmt.Errorf("%T is not what a pod uses", object)
	}
	sum := corev1.ResourceList{}
	for _, container := range pod.Containers {
		add(sum, container.Usage)
	}
	return cells(pod.Name, sum, pod.Window), nil
}

func cells(name string, usage corev1.ResourceList, window metav1.Duration) []any {
	return []any{name, usage.Cpu().String(), usage.Memory().String(), window.Duration.String()}
}
