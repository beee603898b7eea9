package apply_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
)

// reconciles is how often each object is reconciled after it has converged. resync is how far the operator's clock is advanced
// each time, which is the time between two resyncs of a cache.
const (
	reconciles = 10
	resync     = 10 * time.Hour
)

// TestEveryKindIsAFixedPoint composes a minimal and a rich object of every kind that an operator may create, and counts the
// writes after they have converged: reconciles write no object and no event, regardless of their number and time, and a restart
// writes nothing.
func TestEveryKindIsAFixedPoint(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.InstallCRDs(t, boxtest.File(w, "test/testdata/crates.yaml"))
	samples := w.samples()
	composer := &sampleComposer{samples: samples, passes: map[string]int{}}
	clock := clocktesting.NewFakePassiveClock(time.Now())
	run := func() (*boxtest.Traffic, func()) {
		return w.RunWith(w.Config, operon.Config{Namespace: w.Namespace, Clock: clock}, operon.API(boxtest.AddToScheme), operon.Manage(composer))
	}
	requests, stop := run()
	for name := range samples {
		w.Box(name, nil)
	}
	w.exist(samples)
	w.writesNothing("reconciles", samples, func() []string {
		w.reconcileAll(composer)
		w.Quiet(requests.Everything)
		written := len(requests.Writes())
		for range reconciles {
			clock.SetTime(clock.Now().Add(resync))
			w.reconcileAll(composer)
		}
		w.Quiet(requests.Everything)
		return requests.Writes()[written:]
	})
	w.writesNothing("a restart", samples, func() []string {
		stop()
		composer.reset()
		requests, stop = run()
		w.composedAll(composer)
		w.Quiet(requests.Everything)
		return requests.Writes()
	})
}

// writesNothing fails the test if the operator writes anything in a run of pass in which no sample changes. If a sample
// changes, for example because a controller makes it ready late, the operator may have to report that, and pass is run again.
func (w *fixture) writesNothing(what string, samples map[string]*unstructured.Unstructured, pass func() []string) {
	w.Helper()
	w.Eventually(what+" while no sample changes", func(ctx context.Context) error {
		before := w.revisions(ctx, samples)
		written := pass()
		if len(written) == 0 {
			return nil
		}
		if after := w.revisions(ctx, samples); !maps.Equal(before, after) {
			maps.DeleteFunc(after, func(name, revision string) bool { return before[name] == revision })
			return fmt.Errorf("%q changed during %s, which wrote %q", slices.Sorted(maps.Keys(after)), what, written)
		}
		w.Errorf("%s of %d converged objects wrote %q", what, len(samples), written)
		return nil
	})
}

// revisions returns the resource version of each sample by name.
func (w *fixture) revisions(ctx context.Context, samples map[string]*unstructured.Unstructured) map[string]string {
	w.Helper()
	all := map[string]string{}
	for name, sample := range samples {
		live := &metav1.PartialObjectMetadata{}
		live.SetGroupVersionKind(sample.GroupVersionKind())
		w.Must(w.Client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: sample.GetName()}, live))
		all[name] = live.ResourceVersion
	}
	return all
}

// samples reads the objects in testdata/fixedpoint, with a name for each.
func (w *fixture) samples() map[string]*unstructured.Unstructured {
	w.Helper()
	files, err := filepath.Glob("testdata/fixedpoint/*.yaml")
	w.Must(err)
	all := map[string]*unstructured.Unstructured{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		w.Must(err)
		for _, document := range strings.Split(string(data), "\n---\n") {
			sample := &unstructured.Unstructured{}
			w.Must(yaml.Unmarshal([]byte(strings.ReplaceAll(document, "$name", w.Namespace)), &sample.Object))
			name := strings.TrimPrefix(sample.GetName(), w.Namespace+"-")
			if all[name] != nil {
				w.Fatalf("two samples are called %s", name)
			}
			all[name] = sample
		}
	}
	return all
}

// exist waits until each sample exists, and names the missing ones.
func (w *fixture) exist(samples map[string]*unstructured.Unstructured) {
	w.Helper()
	w.Eventually("the samples", func(ctx context.Context) error {
		var missing []error
		for name, sample := range samples {
			live := &unstructured.Unstructured{}
			live.SetGroupVersionKind(sample.GroupVersionKind())
			err := w.Client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: sample.GetName()}, live)
			if apierrors.IsNotFound(err) {
				missing = append(missing, fmt.Errorf("%s: %s", name, w.told(ctx, name)))
				continue
			}
			missing = append(missing, err)
		}
		return errors.Join(missing...)
	})
}

// told returns the status of a Box as text.
func (w *fixture) told(ctx context.Context, name string) string {
	b := &boxtest.Box{}
	if err := w.Client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, b); err != nil {
		return err.Error()
	}
	return fmt.Sprint(b.Status.Conditions)
}

// reconcileAll makes the operator reconcile each sample's owner once more.
func (w *fixture) reconcileAll(composer *sampleComposer) {
	w.Helper()
	composer.reset()
	for name := range composer.samples {
		b := &boxtest.Box{}
		b.Name, b.Namespace = name, w.Namespace
		w.Poke(b)
	}
	w.composedAll(composer)
}

func (w *fixture) composedAll(composer *sampleComposer) {
	w.Helper()
	w.Eventually("a reconcile of each", func(context.Context) error {
		return composer.waiting(slices.Collect(maps.Keys(composer.samples))...)
	})
}

// sampleComposer composes the sample with the name of the Box, as its Go type if there is one: the object then also has the
// fields that Go types encode although they were not set.
type sampleComposer struct {
	samples map[string]*unstructured.Unstructured
	mu      sync.Mutex
	passes  map[string]int
	poked   map[string]string // by Box name, the last annotation that was seen
}

func (c *sampleComposer) Compose(_ context.Context, b *boxtest.Box, out *operon.Composition) error {
	sample := c.samples[b.Name].DeepCopy()
	typed, err := clientgoscheme.Scheme.New(sample.GroupVersionKind())
	if err == nil {
		data, err := json.Marshal(sample.Object)
		if err != nil {
			return err
		}
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(typed); err != nil {
			return err
		}
		out.Child(typed.(client.Object))
	}
	if err != nil {
		out.Child(sample)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passes[b.Name]++
	if c.poked == nil {
		c.poked = map[string]string{}
	}
	c.poked[b.Name] = b.Annotations["poke"]
	return nil
}

func (c *sampleComposer) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.passes)
}

// waiting names the samples that were not composed yet.
func (c *sampleComposer) waiting(names ...string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	late := slices.DeleteFunc(names, func(name string) bool { return c.passes[name] > 0 })
	if len(late) > 0 {
		return fmt.Errorf("not yet: %q", late)
	}
	return nil
}
