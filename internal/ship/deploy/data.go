package deploy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/removal"
)

// data holds the custom resources that an operator reconciles.
type data struct {
	// ours are deleted with the deployment; leaving are other custom resources that are being deleted already, and may wait for
	// the operator; staying remain.
	ours, leaving, staying []*unstructured.Unstructured
	// users are other deployments that use a definition, by its name.
	users map[string]*record
	// namesake is another deployment of the same operator, or nil.
	namesake *record
	// converted are definitions whose versions the operator converts.
	converted []string
}

// going returns the custom resources whose deletion has to be awaited.
func (d *data) going() []*unstructured.Unstructured { return slices.Concat(d.ours, d.leaving) }

// findData lists the custom resources of all definitions that the operator uses.
func (u *undeployer) findData(ctx context.Context) (*data, error) {
	found := &data{users: map[string]*record{}}
	others, err := u.cluster.records(ctx)
	if err != nil {
		return nil, err
	}
	for _, other := range others {
		if other.operator == u.record.operator && other.id() != u.record.id() {
			found.namesake = other
		}
		for _, name := range other.definitions {
			if other.id() != u.record.id() {
				found.users[name] = other
			}
		}
	}
	for _, name := range u.record.definitions {
		if err := u.gather(ctx, found, name); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// gather adds the objects of a definition.
func (u *undeployer) gather(ctx context.Context, to *data, name string) error {
	definition, err := u.cluster.Dynamic.Resource(kube.CRDs).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read CustomResourceDefinition %s: %w", name, err)
	}
	crd, err := kube.ReadCRD(definition)
	if err != nil {
		return err
	}
	if service := crd.ConvertedBy(); service != nil && service.Namespace == u.record.namespace {
		to.converted = append(to.converted, name)
	}
	all, err := u.cluster.objectsOf(ctx, crd)
	if err != nil {
		return err
	}
	ours := partOf(definition) == u.record.id() && u.keeps(definition, to.users) == ""
	for _, object := range all {
		switch {
		case ours:
			to.ours = append(to.ours, object)
		case object.GetDeletionTimestamp() != nil && removal.Held(object) && to.users[name] == nil:
			to.leaving = append(to.leaving, object)
		default:
			to.staying = append(to.staying, object)
		}
	}
	return nil
}

// objectsOf returns all objects that a definition defines.
func (c *cluster) objectsOf(ctx context.Context, crd *kube.CRD) ([]*unstructured.Unstructured, error) {
	kind, served := crd.Readable()
	if !served {
		return nil, nil
	}
	all, err := c.List(ctx, kind, "", "")
	if err != nil && strings.Contains(err.Error(), "conversion webhook for") {
		return nil, fmt.Errorf("CustomResourceDefinition %s: %w; the operator converts them, and must run: see `operon logs`, or deploy it again", crd.Name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s: %w", crd.Name, err)
	}
	return all, nil
}

// tell reports what happens to the objects that remain.
func (d *data) tell(u *undeployer) {
	waiting := map[string]int{}
	for _, object := range d.staying {
		for _, finalizer := range removal.Foreign(object) {
			waiting[finalizer]++
		}
	}
	if len(d.staying) > 0 {
		u.options.warn("kept %s; nothing reconciles them until an operator is deployed again", plural.Count(len(d.staying), "custom resource"))
		u.result.Kept = append(u.result.Kept, plural.Count(len(d.staying), "custom resource"))
	}
	for _, finalizer := range slices.Sorted(maps.Keys(waiting)) {
		u.options.warn("  the finalizer %s is on %d of them: if you delete them, they remain until an operator that clears it is deployed", finalizer, waiting[finalizer])
	}
	if len(d.staying) == 0 {
		return
	}
	for _, name := range d.converted {
		u.options.warn("  versions of %s are converted by the operator: only the stored one can be read meanwhile", name)
	}
}

// attended returns an error if custom resources would wait for an operator that does not run.
func (u *undeployer) attended(ctx context.Context) error {
	var waiting []*unstructured.Unstructured
	for _, object := range u.data.going() {
		if removal.Held(object) {
			waiting = append(waiting, object)
		}
	}
	if len(waiting) == 0 || u.options.GiveUpFinalizers || u.options.DryRun {
		return nil
	}
	why, err := u.absent(ctx)
	if err != nil || why == "" {
		return err
	}
	return fmt.Errorf("nothing was removed: finalizers hold %s, and %s\n%s\n%s", plural.Count(len(waiting), "custom resource"), why, removal.Lines(waiting), u.options.Commands.unattended())
}

// absent describes why the operator does not run, or returns "" if it does.
func (u *undeployer) absent(ctx context.Context) (string, error) {
	deployment, err := u.cluster.typed.AppsV1().Deployments(u.record.namespace).Get(ctx, u.record.operator, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "the operator no longer exists", nil
	}
	if err != nil || deployment.Status.ReadyReplicas > 0 {
		return "", err
	}
	r := &rollout{cluster: u.cluster, namespace: u.record.namespace, name: u.record.operator}
	pods, err := r.pods(ctx, deployment)
	if err != nil {
		return "", err
	}
	found := troubleOf(deployment, pods)
	if found.text == "" {
		return "the operator has no ready pod", nil
	}
	return "the operator does not run: " + found.tell(ctx, r), nil
}

// removeData deletes custom resources, including those that are created in the meantime, until there are none.
func (u *undeployer) removeData(ctx context.Context) error {
	for going := u.data.going(); len(going) > 0; {
		if err := u.removeResources(ctx, going); err != nil {
			return err
		}
		now, err := u.findData(ctx)
		if err != nil {
			return err
		}
		going = now.going()
	}
	return nil
}

func (u *undeployer) removeResources(ctx context.Context, going []*unstructured.Unstructured) error {
	remover := u.remover()
	if err := remover.Delete(ctx, going); err != nil {
		return err
	}
	if !u.options.GiveUpFinalizers {
		return u.waitGone(ctx, going)
	}
	why, err := u.absent(ctx)
	if err != nil {
		return err
	}
	patience := u.options.timeout() / 2 // if the operator runs
	if why != "" {
		patience = timing.grace / 5 // for objects without foreign finalizers
	}
	left, err := remover.WaitFor(ctx, patience, going)
	if err != nil || len(left) == 0 {
		return err
	}
	if err := u.giveUp(ctx, left); err != nil {
		return err
	}
	return u.waitGone(ctx, left)
}

// giveUp removes the foreign finalizers of objects.
func (u *undeployer) giveUp(ctx context.Context, objects []*unstructured.Unstructured) error {
	var problems []error
	for _, object := range objects {
		given, err := removal.Strip(ctx, u.cluster.Client, object)
		if err != nil {
			problems = append(problems, fmt.Errorf("remove the finalizers of %s: %w", addressOf(object), err))
		}
		if len(given) > 0 {
			u.options.warn("removed finalizer %s of %s: resources that its controller would have cleaned up may remain", strings.Join(given, ", "), addressOf(object))
		}
	}
	return errors.Join(problems...)
}

// remover deletes objects, and reports each.
func (u *undeployer) remover() *removal.Remover {
	return &removal.Remover{
		Client: u.cluster.Client,
		Gone: func(object *unstructured.Unstructured) {
			u.result.Removed = append(u.result.Removed, addressOf(object))
			u.options.say("removed %s", addressOf(object))
		},
		Waiting: func(objects []*unstructured.Unstructured) {
			u.options.say("waiting for %s:\n%s", plural.Count(len(objects), "object"), removal.Lines(objects))
		},
	}
}

// remove deletes objects and waits until they no longer exist.
func (u *undeployer) remove(ctx context.Context, objects []*unstructured.Unstructured) error {
	if err := u.remover().Delete(ctx, objects); err != nil {
		return err
	}
	return u.waitGone(ctx, objects)
}

// waitGone waits until objects no longer exist. The error about objects that remain describes what to do.
func (u *undeployer) waitGone(ctx context.Context, objects []*unstructured.Unstructured) error {
	left, err := u.remover().Wait(ctx, objects)
	if err != nil || len(left) == 0 {
		return err
	}
	advice := fmt.Sprintf("run `%s` again to continue", u.options.Commands.Undeploy)
	if slices.ContainsFunc(left, removal.Held) {
		advice = u.options.Commands.held()
	}
	return fmt.Errorf("%w\n%s", removal.Left(context.Cause(ctx), left), advice)
}

// handOver makes a definition that remains part of the deployment that uses it.
func (u *undeployer) handOver(ctx context.Context, definition *unstructured.Unstructured) error {
	other := u.data.users[definition.GetName()]
	if other == nil {
		return nil // --keep-data: the next deployment adopts it
	}
	if _, err := u.cluster.Merge(ctx, definition, labelled(plan.PartOfLabel, other.id())); err != nil {
		return fmt.Errorf("hand CustomResourceDefinition %s over to the deployment of %s: %w", definition.GetName(), other.operator, err)
	}
	return nil
}
