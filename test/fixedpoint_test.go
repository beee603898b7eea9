package operon_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon"
)

// reconciles is how often each object is reconciled after it has converged.
const reconciles = 10

// TestEveryKindIsAFixedPoint composes a minimal and a rich object of every kind that an
// operator may make, and looks at what is written once they are there: nothing, however
// often they are reconciled, and nothing after a restart.
func TestEveryKindIsAFixedPoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.InstallCRDs(t, "testdata/crates.yaml")
	samples := w.samples()
	composer := &sampleComposer{samples: samples, passes: map[string]int{}}
	requests, stop := w.run(composer)
	for name := range samples {
		w.box(name, nil)
	}
	w.exist(samples)
	w.quiet(func() []string { return requests.all(false) })
	written := len(requests.all(true))
	for range reconciles {
		w.reconcileAll(composer)
	}
	w.quiet(func() []string { return requests.all(false) })
	if extra := extra(requests.all(true)[written:]); len(extra) > 0 {
		t.Errorf("%d reconciles of %d converged objects wrote %q", reconciles, len(samples), extra)
	}
	stop()
	composer.reset()
	requests, _ = w.run(composer)
	w.composedAll(composer)
	w.quiet(func() []string { return requests.all(false) })
	if extra := requests.all(true); len(extra) > 0 {
		t.Errorf("a restart wrote %q", extra)
	}
}

// extra are the writes that reconciles with nothing to do made. Of children that become ready meanwhile, a status
// tells once, and an event, and not with each reconcile.
func extra(writes []string) []string {
	times := map[string]int{}
	for _, write := range writes {
		times[write]++
	}
	return slices.DeleteFunc(ofStates(writes), func(write string) bool {
		return strings.HasSuffix(write, "/status") && times[write] < reconciles/2
	})
}

// samples reads the objects of testdata/fixedpoint, by a name for each.
func (w *world) samples() map[string]*unstructured.Unstructured {
	w.Helper()
	files, err := filepath.Glob("testdata/fixedpoint/*.yaml")
	w.must(err)
	all := map[string]*unstructured.Unstructured{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		w.must(err)
		for _, document := range strings.Split(string(data), "\n---\n") {
			sample := &unstructured.Unstructured{}
			w.must(yaml.Unmarshal([]byte(strings.ReplaceAll(document, "$name", w.Namespace)), &sample.Object))
			name := strings.TrimPrefix(sample.GetName(), w.Namespace+"-")
			if all[name] != nil {
				w.Fatalf("two samples are called %s", name)
			}
			all[name] = sample
		}
	}
	return all
}

// exist waits until each sample is there, and names those that are not.
func (w *world) exist(samples map[string]*unstructured.Unstructured) {
	w.Helper()
	w.eventually("the samples", func(ctx context.Context) error {
		var missing []error
		for name, sample := range samples {
			live := &unstructured.Unstructured{}
			live.SetGroupVersionKind(sample.GroupVersionKind())
			err := w.client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: sample.GetName()}, live)
			if apierrors.IsNotFound(err) {
				missing = append(missing, fmt.Errorf("%s: %s", name, w.told(ctx, name)))
				continue
			}
			missing = append(missing, err)
		}
		return errors.Join(missing...)
	})
}

// told is what the Box of a name says of itself.
func (w *world) told(ctx context.Context, name string) string {
	b := &Box{}
	if err := w.client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, b); err != nil {
		return err.Error()
	}
	return fmt.Sprint(b.Status.Conditions)
}

// quiet waits until nothing was sent for a while.
func (w *world) quiet(sent func() []string) {
	w.Helper()
	w.eventually("the operator to be still", func(ctx context.Context) error {
		before := len(sent())
		if err := pause(ctx, stillness); err != nil {
			return err
		}
		if now := sent(); len(now) > before {
			return fmt.Errorf("sent %q", now[before:])
		}
		return nil
	})
}

// reconcileAll makes the operator reconcile each sample's owner once more.
func (w *world) reconcileAll(composer *sampleComposer) {
	w.Helper()
	composer.reset()
	for name := range composer.samples {
		b := &Box{}
		b.Name, b.Namespace = name, w.Namespace
		w.poke(b)
	}
	w.composedAll(composer)
}

func (w *world) composedAll(composer *sampleComposer) {
	w.Helper()
	w.eventually("a reconcile of each", func(context.Context) error {
		return composer.waiting(slices.Collect(maps.Keys(composer.samples))...)
	})
}

// sampleComposer composes the sample of the Box's name, as its Go type where there is one:
// so are the fields in it that Go types write although nobody set them.
type sampleComposer struct {
	samples map[string]*unstructured.Unstructured
	mu      sync.Mutex
	passes  map[string]int
	poked   map[string]string // by the name of its Box, the annotation that was seen last
}

func (c *sampleComposer) Compose(_ context.Context, b *Box, out *operon.Composition) error {
	sample := c.samples[b.Name].DeepCopy()
	typed, err := clientgoscheme.Scheme.New(sample.GroupVersionKind())
	if err == nil {
		data, err := yaml.Marshal(sample.Object)
		if err != nil {
			return err
		}
		if err := yaml.UnmarshalStrict(data, typed); err != nil {
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
