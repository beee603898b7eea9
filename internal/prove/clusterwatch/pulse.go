package clusterwatch

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// pulse measures how slow the cluster is: the time between a write and its watch event.
type pulse struct {
	mu    sync.Mutex
	began time.Time // of a beat that has not ended
	last  [beats]time.Duration
	n     int
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
	return min(max(float64(w.pulse.slowest(time.Now()))/float64(timing.usual), 1), slowest)
}

// beat measures the pulse until ctx ends. Then it deletes its object.
func (w *Witness) beat(ctx context.Context, name string) {
	objects := w.client.Resource(configMaps).Namespace(beatNamespace)
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), timing.ending)
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
		began := w.pulse.begin(time.Now())
		made := &unstructured.Unstructured{}
		made.SetAPIVersion("v1")
		made.SetKind("ConfigMap")
		made.SetName(name)
		made.Object["data"] = map[string]any{"n": strconv.Itoa(n)}
		written, err := objects.Apply(ctx, name, made, metav1.ApplyOptions{FieldManager: "operon-prove", Force: true})
		switch {
		case passing(err):
			// The beat goes on: a cluster that cannot respond is not a fast one.
		case apierrors.IsForbidden(err):
			w.pulse.end(0)
			return // without a pulse, the cluster is assumed to have its usual speed
		case err != nil:
			w.pulse.end(time.Since(began)) // an admission policy may reject it each time, at once
		case w.shown(ctx, name, written.GetResourceVersion()):
			w.pulse.end(time.Since(began))
		}
	}
}

// passing reports whether the cluster may respond to a repeated request.
func passing(err error) bool {
	var status apierrors.APIStatus
	return err != nil && (!errors.As(err, &status) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err))
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

// begin records that a beat begins, unless the last one has not ended. It returns when the beat began.
func (p *pulse) begin(now time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.began.IsZero() {
		p.began = now
	}
	return p.began
}

// end records the duration of a beat.
func (p *pulse) end(took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.began = time.Time{}
	p.last[p.n%beats] = took
	p.n++
}

// slowest returns the longest duration of the last beats, including the beat that has not ended.
func (p *pulse) slowest(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := slices.Max(p.last[:])
	if !p.began.IsZero() {
		took = max(took, now.Sub(p.began))
	}
	return took
}
