package bundletest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/up/tree"
)

// watching is a watch of the samples and what the operator creates for them.
type watching struct {
	*tree.Watcher
	stop context.CancelFunc
}

// watch starts to watch samples of the kinds that a version owns.
func (t *test) watch(ctx context.Context, v *version) error {
	t.unwatch()
	var roots []tree.RootKind
	for _, one := range v.CRDs {
		found, err := t.client.Get(ctx, one.Unstructured)
		if err != nil {
			return err
		}
		if found == nil {
			return fmt.Errorf("the CustomResourceDefinition %s does not exist", one.GetName())
		}
		crd, err := kube.ReadCRD(found)
		if err != nil {
			return err
		}
		resource, served := crd.Readable()
		if !served {
			continue
		}
		schema := crd.Schema(resource.Version)
		root := tree.RootKind{GroupVersionResource: resource, Kind: crd.Spec.Names.Kind}
		if schema != nil {
			_, root.Reports = schema.Properties["status"]
		}
		roots = append(roots, root)
	}
	ctx, cancel := context.WithCancel(ctx)
	watcher, err := tree.Watch(ctx, t.config, roots)
	if err != nil {
		cancel()
		return err
	}
	t.watching = &watching{watcher, cancel}
	t.watching.Expect(t.expected())
	return nil
}

func (t *test) unwatch() {
	if t.watching != nil {
		t.watching.stop()
		t.watching = nil
	}
}

func (t *test) expected() []tree.Sample {
	var all []tree.Sample
	for _, one := range t.samples {
		all = append(all, tree.Sample{GroupVersionKind: one.GroupVersionKind(), Namespace: one.GetNamespace(), Name: one.GetName()})
	}
	return all
}

// createSamples creates the samples of the first version and waits until they are ready.
func (t *test) createSamples(ctx context.Context) (Stage, error) {
	first := t.first()
	stage := Stage{Version: first.CSV.Name}
	if len(first.samples) == 0 {
		return stage, skipError("the bundle has no samples: add some to the annotation alm-examples")
	}
	if err := t.create(ctx, first); err != nil {
		return stage, err
	}
	if err := t.watch(ctx, first); err != nil {
		return stage, err
	}
	least := time.Duration(0)
	if t.previous != nil { // what the upgrade must not touch is complete
		least = timing.settled
	}
	var err error
	stage.Notes, err = t.ready(ctx, least)
	return stage, err
}

// create creates the samples of a version that do not exist yet.
func (t *test) create(ctx context.Context, v *version) error {
	t.client.Refresh()
	for _, one := range v.samples {
		sample := one.DeepCopy()
		if err := t.place(sample); err != nil {
			return err
		}
		objects, err := t.client.Objects(sample)
		if err != nil {
			return fmt.Errorf("create sample %s: %w", tree.Address(sample), err)
		}
		var made *unstructured.Unstructured
		err = t.await(ctx, func(time.Duration) (bool, string, error) {
			made, err = objects.Create(ctx, sample, metav1.CreateOptions{FieldManager: fieldManager})
			if apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) { // a webhook that starts
				return false, fmt.Sprintf("create sample %s: %v", tree.Address(sample), err), nil
			}
			return true, "", err
		})
		switch {
		case apierrors.IsAlreadyExists(err):
		case err != nil:
			return fmt.Errorf("create sample %s: %w", tree.Address(sample), err)
		default:
			t.samples = append(t.samples, made)
		}
	}
	return nil
}

// place sets the namespace of a sample: that of the test for kinds with a namespace.
func (t *test) place(sample *unstructured.Unstructured) error {
	sample.SetNamespace("")
	if err := t.client.Place(sample, t.target()); err != nil {
		return fmt.Errorf("sample %s: %w", tree.Address(sample), err)
	}
	return nil
}

// ready waits until all samples are ready, or do not change although they do not report whether they are ready. Nothing has changed for at
// least still then. It returns what is to be known about single samples.
func (t *test) ready(ctx context.Context, least time.Duration) (notes []string, err error) {
	var waiting []string
	err = t.await(ctx, func(still time.Duration) (bool, string, error) {
		roots := t.watching.Snapshot().Roots
		waiting, notes = nil, nil
		for _, node := range roots {
			switch {
			case !t.created(node.Object):
			case len(tree.Conditions(node.Object)) == 0 && node.State != tree.Missing && still > timing.settled:
				notes = append(notes, node.Address()+" was accepted: it has no conditions that report whether it is ready")
			case len(tree.Conditions(node.Object)) == 0 || node.State != tree.Ready:
				waiting = append(waiting, unready(node))
			}
		}
		done := t.watching.Complete() && len(waiting) == 0 && still >= least
		return done, states(roots), nil
	})
	var idle *idleError
	if errors.As(err, &idle) {
		return nil, &idleError{strings.Join(waiting, "\n"), idle.after}
	}
	return notes, err
}

// unready describes a sample that is not ready.
func unready(node *tree.Node) string {
	if why := tree.Why(node); len(why) > 0 {
		return strings.Join(why, "\n")
	}
	return node.Address() + ": no conditions yet"
}

// states describes what changes in the tree when there is progress. Messages are not part of it: some of them change forever.
func states(nodes []*tree.Node) string {
	var text strings.Builder
	for _, node := range nodes {
		fmt.Fprintf(&text, "%s %s %s", node.Address(), node.Object.GetUID(), node.State)
		for _, condition := range tree.Conditions(node.Object) {
			fmt.Fprintf(&text, " %s=%s %s", condition.Type, condition.Status, condition.Reason)
		}
		fmt.Fprintf(&text, "\n%s", states(node.Children))
	}
	return text.String()
}

// created reports whether an object is a sample.
func (t *test) created(object *unstructured.Unstructured) bool {
	return slices.ContainsFunc(t.expected(), func(sample tree.Sample) bool { return sample.Matches(object) })
}
