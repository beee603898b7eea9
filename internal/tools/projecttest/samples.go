package projecttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/runtime/reconcilelog"
	"github.com/operon-framework/operon/internal/tools/removal"
	"github.com/operon-framework/operon/internal/tools/up/tree"
)

// Steps of samples.
const (
	stepReady      = "ready"
	stepIdempotent = "idempotent"
	stepDeleted    = "deleted"
	// stepSamples is the step in place of all others if samples cannot be applied.
	stepSamples = "samples"
)

// checkSamples checks all samples. A sample that is not ready is only deleted.
func (t *test) checkSamples(ctx context.Context) {
	if len(t.running.Project().Samples) == 0 || ctx.Err() != nil {
		return
	}
	if t.running.Ended() == nil {
		t.skip(stepSamples, "", "the operator does not run")
		return
	}
	samples, ready := t.checkReady(ctx)
	if ctx.Err() != nil {
		return
	}
	t.checkIdempotent(ctx, ready)
	if t.running.Ended() == nil {
		t.skipAll(stepDeleted, samples)
		return
	}
	for _, sample := range slices.Backward(samples) {
		t.step(ctx, stepDeleted, tree.Address(sample), func(ctx context.Context) error { return t.delete(ctx, sample) })
	}
}

func (t *test) skipAll(step string, samples []*unstructured.Unstructured) {
	for _, sample := range samples {
		t.skip(step, tree.Address(sample), "the operator does not run")
	}
}

// checkReady applies the samples and waits until they are ready. It returns those of the kinds of the project, and the ones of them that are
// ready.
func (t *test) checkReady(ctx context.Context) (samples, ready []*unstructured.Unstructured) {
	started := time.Now()
	nodes, err := t.running.Ready(ctx, t.options.Timeout)
	took := time.Since(started).Seconds()
	if len(nodes) == 0 || t.running.Ended() == nil {
		if err == nil {
			err = errors.New("no sample was found in the cluster")
		}
		t.add(Step{Name: stepSamples, Seconds: took}, err)
		return nil, nil
	}
	for _, node := range nodes {
		step := Step{Name: stepReady, Object: node.Address(), Seconds: took}
		why := notReady(node, err)
		t.add(step, why, node.Object)
		if !isOwn(t.running.Project(), node.Object) || node.State == tree.Missing {
			continue
		}
		samples = append(samples, node.Object)
		if why == nil {
			ready = append(ready, node.Object)
		}
	}
	return samples, ready
}

// notReady returns why a sample is not ready, or nil. err is the error of all samples.
func notReady(node *tree.Node, err error) error {
	if node.State != tree.Ready {
		why := strings.Join(tree.Why(node), "\n")
		if failed := lastFailure(node.Object); !strings.Contains(why, failed) { // the conditions do not have it while the role runs again
			why += "\nthe last run failed: " + failed
		}
		if err == nil {
			return errors.New(why)
		}
		return fmt.Errorf("%s\n%w", why, err)
	}
	for _, condition := range tree.Conditions(node.Object) {
		if wanted, known := classic[condition.Type]; known && string(condition.Status) != wanted {
			return fmt.Errorf("the condition %s", condition)
		}
	}
	return nil
}

// classic are the conditions of Operator SDK's Ansible and Helm operators that an object has in addition to Ready, and their values.
var classic = map[string]string{"Successful": "True", "Failure": "False", "Deployed": "True", "ReleaseFailed": "False", "Irreconcilable": "False"}

// checkIdempotent restarts the operator, which has to run everything again for each sample, and compares the objects with those before.
func (t *test) checkIdempotent(ctx context.Context, samples []*unstructured.Unstructured) {
	if len(samples) == 0 {
		return
	}
	t.running.Stop()
	before, err := t.snapshots(ctx, samples)
	if err == nil {
		err = t.running.Start()
	}
	for i, sample := range samples {
		t.step(ctx, stepIdempotent, tree.Address(sample), func(ctx context.Context) error {
			if err != nil {
				return err
			}
			if err := t.waitForRun(ctx, sample); err != nil {
				return err
			}
			after, err := t.snapshot(ctx, sample)
			if err != nil {
				return err
			}
			return before[i].compare(after)
		})
	}
}

// snapshots returns the states of samples, and makes the operator forget that it has run for them.
func (t *test) snapshots(ctx context.Context, samples []*unstructured.Unstructured) ([]snapshot, error) {
	var all []snapshot
	for _, sample := range samples {
		if err := t.forget(ctx, sample); err != nil {
			return nil, err
		}
		one, err := t.snapshot(ctx, sample)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// forget removes the record of the last run of an Ansible role, because of which the role would not run again.
func (t *test) forget(ctx context.Context, sample *unstructured.Unstructured) error {
	if _, found, _ := unstructured.NestedMap(sample.Object, "status", "lastRun"); !found {
		return nil
	}
	objects, err := t.running.Client().Objects(sample)
	if err != nil {
		return err
	}
	_, err = objects.Patch(ctx, sample.GetName(), types.MergePatchType, []byte(`{"status":{"lastRun":null}}`), metav1.PatchOptions{}, "status")
	return err
}

// waitForRun waits until the operator that runs now has finished a reconcile of a sample.
func (t *test) waitForRun(ctx context.Context, sample *unstructured.Unstructured) error {
	kind := sample.GroupVersionKind()
	last := errors.New("the operator has not reconciled it")
	for {
		known, err := reconcilelog.AskObject(ctx, t.running.Endpoint(), kind.Kind+"."+kind.Group, sample.GetNamespace(), sample.GetName())
		if err == nil && len(known.Passes) > 0 {
			pass := known.Passes[0]
			if pass.Outcome == "done" {
				return nil
			}
			last = fmt.Errorf("%s: %s", pass.Outcome, first(pass.Error, pass.Message, pass.Reason))
		}
		now, err := t.running.Client().Get(ctx, sample)
		if failed := lastFailure(now); err == nil && failed != "" {
			return fmt.Errorf("the second run failed: %s", failed)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), last)
		case <-time.After(timing.interval):
		}
	}
}

// lastFailure returns why the last run of an Ansible role failed, or "".
func lastFailure(sample *unstructured.Unstructured) string {
	if sample == nil {
		return ""
	}
	failed, _, _ := unstructured.NestedString(sample.Object, "status", "lastRun", "failed")
	return failed
}

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// delete deletes a sample, and waits until it and everything that the operator has created for it are gone.
func (t *test) delete(ctx context.Context, sample *unstructured.Unstructured) error {
	children, err := t.children(ctx, sample)
	if err != nil {
		return err
	}
	gone := t.remover()
	if err := t.remove(ctx, sample); err != nil {
		return err
	}
	left, err := gone.Wait(ctx, []*unstructured.Unstructured{sample})
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return stuck(context.Cause(ctx), left)
	}
	if left, err = gone.WaitFor(ctx, timing.collected, children); err != nil || len(left) == 0 {
		return err
	}
	return fmt.Errorf("these objects still exist %s after the custom resource, because they have no owner reference that garbage collection follows, and no finalizer deletes them:\n%s", timing.collected, removal.Lines(left))
}

// stuck returns the error of a custom resource that is not deleted, with what its operator reports.
func stuck(cause error, left []*unstructured.Unstructured) error {
	err := removal.Left(cause, left)
	for _, condition := range tree.Conditions(left[0]) {
		if condition.Type == "Ready" && condition.Status != "True" {
			return fmt.Errorf("%w\n  %s", err, condition)
		}
	}
	return err
}

// remove deletes an object as kubectl does: the objects that it owns are deleted after it.
func (t *test) remove(ctx context.Context, object *unstructured.Unstructured) error {
	objects, err := t.running.Client().Objects(object)
	if err != nil {
		return err
	}
	uid, background := object.GetUID(), metav1.DeletePropagationBackground
	return objects.Delete(ctx, object.GetName(), metav1.DeleteOptions{PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &uid}})
}

func (t *test) remover() *removal.Remover {
	return &removal.Remover{Client: t.running.Client(), Gone: func(*unstructured.Unstructured) {}}
}
