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
	// users are other deployments that use a definition, by its name. namesake reports that the same operator is also deployed elsewhere. hidden
	// reports that the user may not look for other deployments.
	users            map[string]*record
	namesake, hidden bool
	// converted are definitions whose versions the operator converts.
	converted []string
	// count is the number of objects by the name of their definition, and unlisted are errors about objects that are kept although they cannot be
	// listed.
	count    map[string]int
	unlisted []error
}

// going returns the custom resources whose deletion has to be awaited.
func (d *data) going() []*unstructured.Unstructured { return slices.Concat(d.ours, d.leaving) }

// usedBy returns why a definition stays with its objects, or "" if no other deployment uses it.
func (d *data) usedBy(definition string) string {
	if d.hidden {
		return "another deployment may use it: you have no permission to list ConfigMaps, their records, in all namespaces"
	}
	if other := d.users[definition]; other != nil {
		return fmt.Sprintf("the deployment of %s in namespace %s also uses it", other.operator, other.namespace)
	}
	return ""
}

// findData lists the custom resources of all definitions that the operator uses.
func (u *undeployer) findData(ctx context.Context) (*data, error) {
	found := &data{users: map[string]*record{}, count: map[string]int{}}
	others, err := u.cluster.records(ctx)
	if found.hidden = apierrors.IsForbidden(err); err != nil && !found.hidden {
		return nil, err
	}
	for _, other := range others {
		if other.id() == u.record.id() {
			continue
		}
		found.namesake = found.namesake || other.operator == u.record.operator
		for _, name := range other.definitions {
			found.users[name] = other
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
	if err != nil && u.options.KeepData && ctx.Err() == nil {
		to.unlisted = append(to.unlisted, err)
		return nil
	}
	if err != nil {
		return err
	}
	to.count[name] = len(all)
	ours := partOf(definition) == u.record.id() && u.keeps(definition, to) == ""
	for _, object := range all {
		switch {
		case ours:
			to.ours = append(to.ours, object)
		case object.GetDeletionTimestamp() != nil && removal.Held(object) && to.usedBy(name) == "":
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
	if lacksConversion(err) {
		return nil, fmt.Errorf("CustomResourceDefinition %s: %w; the operator converts them, and must run: see `operon logs`, or deploy it again", crd.Name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s: %w", crd.Name, err)
	}
	return all, nil
}

// lacksConversion reports whether objects cannot be read because the operator, which converts them to another version, does not run.
func lacksConversion(err error) bool {
	return err != nil && strings.Contains(err.Error(), "conversion webhook for")
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
	for _, err := range d.unlisted {
		u.options.warn("kept custom resources that cannot be listed: %v", err)
	}
	if len(d.staying)+len(d.unlisted) == 0 {
		return
	}
	for _, name := range d.converted {
		u.options.warn("  versions of %s are converted by the operator: only the stored one can be read meanwhile", name)
	}
}

// attended returns an error if custom resources would wait for an operator that does not run. If data is kept, they are kept, too.
func (u *undeployer) attended(ctx context.Context) error {
	var waiting []*unstructured.Unstructured
	for _, object := range u.data.going() {
		if removal.Held(object) {
			waiting = append(waiting, object)
		}
	}
	if len(waiting) == 0 || u.options.GiveUpFinalizers || u.options.DryRun && !u.options.KeepData {
		return nil
	}
	why, err := u.absent(ctx)
	if err != nil || why == "" {
		return err
	}
	if u.options.KeepData {
		u.leave(waiting, why)
		return nil
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

// leave keeps custom resources whose deletion was requested, and whose finalizers are not cleared.
func (u *undeployer) leave(waiting []*unstructured.Unstructured, why string) {
	u.options.warn("the deletion of %s is not completed, because %s; it will be when an operator that clears the finalizers is deployed again\n%s", plural.Count(len(waiting), "custom resource"), why, removal.Lines(waiting))
	u.data.leaving, u.data.staying = nil, append(u.data.staying, waiting...)
}

// removeData deletes custom resources, including those that are created in the meantime, until there are none. If data is kept, it lets the
// operator complete the deletions that were requested before.
func (u *undeployer) removeData(ctx context.Context) error {
	if u.options.KeepData {
		left, err := u.remover().WaitFor(ctx, u.options.timeout()/2, u.data.leaving)
		if err != nil || len(left) == 0 {
			return err
		}
		u.leave(left, "the operator does not clear their finalizers")
		return context.Cause(ctx)
	}
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
	why, err := u.absent(ctx)
	if err != nil {
		return err
	}
	remover := u.remover()
	if why != "" { // its webhooks would reject deletions; API servers notice with a delay that they were removed
		if err := u.unregister(ctx); err != nil {
			return err
		}
		remover.Retry = func(err error) bool { return strings.Contains(err.Error(), "failed calling webhook") }
	}
	if err := remover.Delete(ctx, going); err != nil {
		return err
	}
	if !u.options.GiveUpFinalizers {
		return u.waitGone(ctx, going)
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
