package deploy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/tools/kube"
)

// carryOut writes and prunes objects, and waits until the operator is ready.
func (d *deployer) carryOut(ctx context.Context) error {
	if err := d.write(ctx); err != nil {
		return d.takeBack(ctx, err)
	}
	d.options.say("applied %s to %s: %d new, %d changed", plural.Count(len(d.items), "object"), d.cluster.Title, len(d.result.Created), len(d.result.Changed))
	if err := d.ready(ctx); err != nil {
		return err
	}
	return d.complete(ctx)
}

// ready waits until the pods are ready and answer webhooks.
func (d *deployer) ready(ctx context.Context) error {
	bounded, cancel := context.WithTimeoutCause(ctx, d.options.timeout(), fmt.Errorf("not ready after %s", d.options.timeout()))
	defer cancel()
	r := &rollout{cluster: d.cluster, target: d.options.Target, namespace: d.operator.Namespace, name: d.operator.Name}
	if err := r.wait(bounded); err != nil {
		return d.unready(err)
	}
	if err := d.hooksAnswer(bounded); err != nil {
		return d.unready(err)
	}
	d.result.Replicas, d.result.Simulated = r.ready, r.simulated
	return nil
}

// complete deletes the objects that are no longer part of the deployment, and writes the final record. Until the new pods are ready, the old ones
// need their permissions.
func (d *deployer) complete(ctx context.Context) error {
	if err := d.undisturbed(ctx); err != nil {
		return err
	}
	if err := d.stopConversion(ctx); err != nil {
		return err
	}
	if err := d.prune(ctx); err != nil {
		return err
	}
	d.record.begun = ""
	if _, err := d.cluster.Apply(ctx, d.record.object()); err != nil {
		return fmt.Errorf("write the record of the deployment: %w", err)
	}
	return nil
}

// undisturbed returns an error if another client has begun to deploy the operator in the meantime: what it created would be pruned.
func (d *deployer) undisturbed(ctx context.Context) error {
	stored, err := d.cluster.readRecord(ctx, d.record.operator, d.record.namespace)
	if err != nil {
		return err
	}
	if stored == nil || stored.begun != d.record.begun {
		return fmt.Errorf("%w: nothing is pruned; `%s` again when they are done", errBegun, d.options.Commands.Deploy)
	}
	return nil
}

// write applies all objects: first the namespace and the record, with which the others can be found.
func (d *deployer) write(ctx context.Context) error {
	for _, one := range d.items {
		if !isNamespace(one.want) {
			continue
		}
		if err := d.writeNamespace(ctx, one); err != nil {
			return err
		}
	}
	if err := d.rehearse(ctx); err != nil {
		return err
	}
	if err := d.begin(ctx); err != nil {
		return err
	}
	if err := d.writeDefinitions(ctx); err != nil {
		return err
	}
	for _, one := range d.items {
		if isNamespace(one.want) || kube.IsCRD(one.want) {
			continue
		}
		if err := d.applyOne(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// writeNamespace applies a namespace. If it did not exist, it is created, so that it cannot be the one of another client.
func (d *deployer) writeNamespace(ctx context.Context, one *item) error {
	if one.live != nil {
		return d.applyOne(ctx, one)
	}
	objects, err := d.cluster.Objects(one.want)
	if err != nil {
		return err
	}
	made, err := objects.Create(ctx, one.want, metav1.CreateOptions{FieldManager: manager})
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("%w: it created %s meanwhile; `%s` again when they are done", errBegun, addressOf(one.want), d.options.Commands.Deploy)
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", addressOf(one.want), err)
	}
	d.created = made
	if _, err := d.cluster.Apply(ctx, one.want); err != nil { // later deployments apply it, too
		return fmt.Errorf("apply %s: %w", addressOf(one.want), err)
	}
	d.note(one)
	one.live = one.want
	return nil
}

// errBegun is the error of a deployment that another client has started, too. The existing objects belong to that
// client.
var errBegun = errors.New("another client has started to deploy it")

// begin writes the record with a unique word. Of two first deployments at the same time, only one can create it. A later deployment, or one
// that continues a deployment that was not completed, replaces the word, and thereby stops a deployment that is still at work.
func (d *deployer) begin(ctx context.Context) error {
	d.record.begun = rand.Text()
	record := d.record.with(d.before).object()
	objects, err := d.cluster.Objects(record)
	if err != nil {
		return err
	}
	if d.before == nil {
		_, err = objects.Create(ctx, record, metav1.CreateOptions{FieldManager: manager})
	} else {
		_, err = d.cluster.Apply(ctx, record)
	}
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("%w, as %s shows: `%s` again when they are done", errBegun, addressOf(record), d.options.Commands.Deploy)
	}
	if err != nil {
		return fmt.Errorf("write the record of the deployment: %w", err)
	}
	d.begun = true
	return nil
}

// writeDefinitions applies the definitions and waits until they are served.
func (d *deployer) writeDefinitions(ctx context.Context) error {
	var all []*unstructured.Unstructured
	for _, one := range d.items {
		if kube.IsCRD(one.want) {
			all = append(all, one.want)
			d.note(one)
		}
	}
	return d.cluster.InstallCRDs(ctx, all...)
}

func (d *deployer) applyOne(ctx context.Context, one *item) error {
	if !d.skips(one) {
		if _, err := d.cluster.Apply(ctx, one.want); err != nil {
			return fmt.Errorf("apply %s: %w", addressOf(one.want), err)
		}
	}
	d.note(one)
	return nil
}

// takeBack deletes the objects that a failed first deployment created. A later deployment is left incomplete: the previous
// version continues to run, and the next attempt completes the deployment.
func (d *deployer) takeBack(ctx context.Context, failed error) error {
	if errors.Is(failed, errBegun) {
		return failed
	}
	if d.before != nil {
		return leaving(failed, "the deployment is incomplete: run `%s` again to continue it", d.options.Commands.Deploy)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timing.undoTimeout)
	defer cancel()
	d.options.say("removing the objects created so far")
	err := d.undo(ctx)
	if errors.Is(err, errBegun) {
		return leaving(failed, "nothing is removed: %v", err)
	}
	if err != nil {
		return leaving(failed, "and not all objects created so far could be removed: %v; `%s` removes them", err, d.options.undeployment())
	}
	return leaving(failed, "the objects created so far were removed")
}

// undo deletes all objects that this process created, its namespace last. Objects that existed before are kept: definitions
// with their objects from an earlier deployment, also those that the project no longer has, or all objects of a deployment
// without a record. If another client has continued the deployment, all objects are kept, because they cannot be distinguished.
func (d *deployer) undo(ctx context.Context) error {
	if !d.begun { // nothing else was written
		return d.undoNamespace(ctx)
	}
	stored, err := d.cluster.Get(ctx, d.record.object())
	if err != nil {
		return err
	}
	if stored != nil && parseRecord(stored).begun != d.record.begun {
		return errBegun
	}
	made, err := d.cluster.members(ctx, d.record)
	if err != nil {
		return err
	}
	made = slices.DeleteFunc(made, func(object *unstructured.Unstructured) bool { return isNamespace(object) || !d.creates(object) })
	if stored != nil {
		made = append(made, stored)
	}
	if err := d.undeployer().remove(ctx, made); err != nil {
		return err
	}
	return d.undoNamespace(ctx)
}

// undoNamespace deletes the namespace that this process created, unless another client has put something into it.
func (d *deployer) undoNamespace(ctx context.Context) error {
	if d.created == nil {
		return nil
	}
	return d.undeployer().removeNamespaces(ctx, []*unstructured.Unstructured{d.created})
}

func (d *deployer) undeployer() *undeployer {
	return &undeployer{options: UndeployOptions{Target: d.options.Target}, cluster: d.cluster, record: d.record, result: &Removal{}}
}

// creates reports whether an object is part of the deployment and did not exist before it.
func (d *deployer) creates(object *unstructured.Unstructured) bool {
	return slices.ContainsFunc(d.items, func(one *item) bool { return one.live == nil && addressOf(one.want) == addressOf(object) })
}

// unready describes what remains, and what to do about it.
func (d *deployer) unready(why error) error {
	left := "it is left in place for inspection"
	if d.before != nil {
		left = "the old pods keep running until the new ones are ready"
	}
	return leaving(why, "%s; `%s` again after a change, or remove all of it with `%s`", left, d.options.Commands.Deploy, d.options.undeployment())
}

// surplus returns the objects that have the deployment's label and are no longer part of the deployment.
func (d *deployer) surplus(ctx context.Context) ([]*unstructured.Unstructured, error) {
	if d.before == nil {
		return nil, nil
	}
	members, err := d.cluster.members(ctx, d.record.with(d.before))
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, one := range d.items {
		wanted[addressOf(one.want)] = true
	}
	var surplus []*unstructured.Unstructured
	for _, object := range members {
		if !wanted[addressOf(object)] && object.GetDeletionTimestamp() == nil {
			surplus = append(surplus, object)
		}
	}
	return surplus, nil
}

// prune deletes surplus objects. It keeps definitions, because their objects would be deleted with them.
func (d *deployer) prune(ctx context.Context) error {
	surplus, err := d.surplus(ctx)
	if err != nil {
		return fmt.Errorf("find objects that are no longer deployed: %w", err)
	}
	if d.abandons(surplus) {
		if err := d.unregister(ctx); err != nil {
			return err
		}
	}
	for _, object := range surplus {
		if kube.IsCRD(object) {
			d.record.keep(object)
			d.result.Kept = append(d.result.Kept, addressOf(object))
			d.options.warn("%s is no longer in the project; it is kept, because its objects would be deleted with it; `kubectl delete crd %s` deletes both", addressOf(object), object.GetName())
			continue
		}
		if err := d.cluster.Delete(ctx, object); err != nil {
			return fmt.Errorf("remove %s: %w", addressOf(object), err)
		}
		d.result.Pruned = append(d.result.Pruned, addressOf(object))
		d.options.say("removed %s, which is no longer in the project", addressOf(object))
	}
	return nil
}

// keep adds an object that is kept to the record.
func (r *record) keep(object *unstructured.Unstructured) {
	r.kinds[object.GroupVersionKind().GroupKind()] = true
	r.definitions = append(r.definitions, object.GetName())
}
