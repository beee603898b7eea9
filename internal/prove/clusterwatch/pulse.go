package clusterwatch

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// pulse measures how slow the cluster is: the time between a write and its watch event.
type pulse struct {
	slow atomic.Int64 // the slowest of the last beats, in nanoseconds
	last [beats]time.Duration
	n    int
}

const (
	beats = 8
	// slowest bounds Slowness.
	slowest = 8
)

// beatNamespace is the namespace in which the pulse is measured.
const beatNamespace = "default"

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// Slowness returns how much slower the cluster currently is than a cluster on an otherwise idle machine: at least 1, at most 8. Callers
// that wait for an idle cluster multiply their waiting time by it.
func (w *Witness) Slowness() float64 {
	slow := float64(w.pulse.slow.Load()) / float64(timing.usual)
	return min(max(slow, 1), slowest)
}

// beat measures the pulse until ctx ends. Then it deletes its object.
func (w *Witness) beat(ctx context.Context, name string) {
	objects := w.client.Resource(configMaps).Namespace(beatNamespace)
	made := &unstructured.Unstructured{}
	made.SetAPIVersion("v1")
	made.SetKind("ConfigMap")
	made.SetName(name)
	if _, err := objects.Create(ctx, made, metav1.CreateOptions{}); err != nil {
		return // without a pulse, the cluster is assumed to have its usual speed
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = objects.Delete(ending, name, metav1.DeleteOptions{}) // if the deletion fails, an almost empty ConfigMap remains
	}()
	tick := time.NewTicker(timing.between)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		began := time.Now()
		patch, _ := json.Marshal(map[string]any{"data": map[string]string{"n": strconv.Itoa(n)}}) // cannot fail: the map contains only strings
		written, err := objects.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
		if err == nil && w.shown(ctx, name, written.GetResourceVersion()) {
			w.pulse.add(time.Since(began))
		}
	}
}

// shown waits until a watch has shown a version of the pulse's object. It returns false if ctx ends before that.
func (w *Witness) shown(ctx context.Context, name, version string) bool {
	scene := w.Scene(beatNamespace)
	for {
		changed := scene.Changed()
		object := w.Object(configMaps.GroupResource(), beatNamespace, name)
		if object != nil && resourceclient.Revision(object.GetResourceVersion()) >= resourceclient.Revision(version) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		}
	}
}

func (p *pulse) add(took time.Duration) {
	p.last[p.n%beats] = took
	p.n++
	p.slow.Store(int64(slices.Max(p.last[:])))
}
