package sim

import (
	"context"
	"testing"
	"time"
	"runtime"
	"os"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestTmp(t *testing.T) {
	data, err := os.ReadFile("/root/go/pkg/mod/sigs.k8s.io/kwok@v0.8.0/kustomize/stage/pod/fast/pod-ready.yaml")
	if err != nil { t.Fatal(err) }
	var st v1alpha1.Stage
	if err := yaml.Unmarshal(data, &st); err != nil { t.Fatal(err) }
	var m0, m1 runtime.MemStats
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "b", UID: "x"}, Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c", Image: "i"}}}, Status: corev1.PodStatus{Phase: "Pending"}}
	pj, _ := json.Marshal(pod)
	var pm map[string]any
	json.Unmarshal(pj, &pm)
	for _, d := range []any{pod, &unstructured.Unstructured{Object: pm}} {
	is, err := internalversion.ConvertToInternalStage(&st)
	if err != nil { t.Fatal(err) }
	runtime.GC(); runtime.ReadMemStats(&m0)
	start := time.Now()
	var lcs []lifecycle.Lifecycle
	for range 10 {
		lc, err := lifecycle.NewLifecycle([]*internalversion.Stage{is})
		if err != nil { t.Fatal(err) }
		s, err := lc.Match(context.Background(), &lifecycle.Event{Data: d})
		if err != nil || s == nil { t.Fatal(err, s) }
		lcs = append(lcs, lc)
	}
	el := time.Since(start)
	runtime.GC(); runtime.ReadMemStats(&m1)
	t.Logf("%T init+match per stage %v, mem per stage %d KB, alloc %d KB", d, el/10, (m1.HeapAlloc-m0.HeapAlloc)/10240, (m1.TotalAlloc-m0.TotalAlloc)/10240)
	start = time.Now()
	for range 1000 {
		s, err := lcs[0].Match(context.Background(), &lifecycle.Event{Data: d})
		if err != nil || s == nil { t.Fatal(err, s) }
	}
	t.Logf("match %v", time.Since(start)/1000)
	r := gotpl.NewRenderer(gotpl.FuncMap{"NodeIPsWith": func(string) []string { return []string{"1.2.3.4"} }, "PodIPsWith": func(string, bool, string,string,string) []string { return []string{"1.2.3.4"} }})
	s, _ := lcs[0].Match(context.Background(), &lifecycle.Event{Data: d})
	start = time.Now()
	for range 1000 {
		_, err := s.DoSteps(0, nil, d, r, nil, nil, func(p *lifecycle.Patch) error { return nil }, nil)
		if err != nil { t.Fatal(err) }
	}
	t.Logf("dosteps %v", time.Since(start)/1000)
	}
}
