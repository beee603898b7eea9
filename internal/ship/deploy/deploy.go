package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/internal/tools/crdcompat"
	"github.com/operon-framework/operon/internal/tools/generate/manifests"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/project"
)

// Result is the result of a deployment.
type Result struct {
	Operator  string `json:"operator"`
	Namespace string `json:"namespace"`
	Cluster   string `json:"cluster"`
	Image     string `json:"image"`
	// DryRun reports that nothing was written, and the lists describe what would be written.
	DryRun bool `json:"dryRun,omitempty"`
	// Created, Changed, Unchanged and Pruned are objects.
	Created   []string `json:"created,omitempty"`
	Changed   []string `json:"changed,omitempty"`
	Unchanged []string `json:"unchanged,omitempty"`
	Pruned    []string `json:"pruned,omitempty"`
	// Untried are objects that a dry run could not try, because their namespace does not exist.
	Untried []string `json:"untried,omitempty"`
	// Kept are CRDs that this deployment no longer has. They stay, because their objects would be deleted with them.
	Kept []string `json:"kept,omitempty"`
	// Notes describe permissions of the operator in the whole cluster that lead to other permissions, in one sentence each.
	Notes []string `json:"notes,omitempty"`
	// Replicas is the number of ready replicas.
	Replicas int32 `json:"replicas"`
	// Simulated reports that the pods are on nodes that run no programs.
	Simulated bool `json:"simulated,omitempty"`
	// Seconds is the duration.
	Seconds float64 `json:"seconds"`
}

// deployer is the state of one Run.
type deployer struct {
	options  Options
	project  *project.Project
	operator manifests.Operator
	to       image.Delivery
	cluster  *cluster
	record   *record
	before   *record // nil for a first deployment
	items    []*item
	result   *Result
	// created is the namespace that this process created, or nil. begun reports that this process wrote the record.
	created *unstructured.Unstructured
	begun   bool
}

// item is one object of the deployment.
type item struct {
	want, live *unstructured.Unstructured
	// foreign reports that the object existed before and does not belong to the deployment: it is updated, and never deleted.
	foreign bool
	// tried reports that the API server accepts the object.
	tried bool
	// differs reports that the object in the cluster differs from the wanted one.
	differs bool
}

// Run deploys a project's operator and waits until it is ready. It builds the image unless one is named. After everything
// else has been tried, it loads the image into the cluster's nodes or pushes it to the registry, and does not remove it
// again. If not all objects of a first deployment are accepted, nothing remains. If the operator does not become ready, its
// objects remain for inspection, and the error contains the reason and how to remove them.
func Run(ctx context.Context, options Options) (*Result, error) {
	started := time.Now()
	options.Commands = options.commands()
	d := &deployer{options: options}
	var err error
	if d.project, d.operator, err = options.operator(); err != nil {
		return nil, err
	}
	if _, err := d.operator.Objects(); err != nil { // before the cluster is accessed
		return nil, err
	}
	if d.to, err = options.Destination(ctx); err != nil {
		return nil, err
	}
	if d.cluster, err = connect(ctx, options.Where); err != nil {
		return nil, err
	}
	d.result = &Result{Operator: d.operator.Name, Namespace: d.operator.Namespace, Cluster: d.cluster.Title, Image: d.operator.Image, DryRun: options.DryRun}
	if err := d.provide(ctx); err != nil {
		return nil, err
	}
	if options.DryRun {
		return d.result, d.foretell(ctx)
	}
	err = d.carryOut(ctx)
	d.result.Seconds = time.Since(started).Seconds()
	if err != nil {
		return nil, err
	}
	return d.result, nil
}

// provide prepares everything that the deployment needs, including its image. The image is delivered after all other objects
// were found to be acceptable.
func (d *deployer) provide(ctx context.Context) error {
	if err := d.allowed(ctx); err != nil {
		return err
	}
	made, err := d.build(ctx)
	if err != nil {
		return err
	}
	err = d.prepare(ctx)
	if err == nil && !d.options.DryRun {
		err = made.deliver(ctx)
	}
	return errors.Join(err, made.close())
}

// allowed checks that the user has the permissions to deploy.
func (d *deployer) allowed(ctx context.Context) error {
	var err error
	if d.operator.Monitor, err = d.cluster.Has(schema.GroupKind{Group: "monitoring.coreos.com", Kind: "ServiceMonitor"}); err != nil {
		return err
	}
	objects, err := d.operator.Objects()
	if err != nil {
		return err
	}
	for _, object := range objects {
		d.result.Notes = append(d.result.Notes, powersOf(object)...)
	}
	d.record = newRecord(d.operator.Name, d.operator.Namespace).of(objects)
	d.record.module, _, _ = module.SplitPathVersion(d.project.Module.Path)
	d.record.main = d.project.Main.Package
	return d.permitted(ctx, objects)
}

// displaces reports whether a deployment with the same name is of another program, rather than an earlier version, whose main package may
// have been in another directory.
func (d *deployer) displaces(before *record) bool {
	switch {
	case before.module == "" || d.record.module == "":
		return false
	case before.module != d.record.module:
		return true
	}
	_, err := project.Identify(d.options.Dir, project.Options{Main: before.main})
	return err == nil && before.main != d.record.main
}

// prepare checks whether all objects will be accepted, and writes nothing.
func (d *deployer) prepare(ctx context.Context) error {
	d.record.image = d.operator.Image
	objects, err := d.operator.Objects()
	if err != nil {
		return err
	}
	if d.before, err = d.cluster.readRecord(ctx, d.record.operator, d.record.namespace); err != nil {
		return err
	}
	if d.before != nil && d.displaces(d.before) {
		return fmt.Errorf("namespace %s has a deployment of another program with the name %s, %s of module %s: remove it first with `%s`, or give one of the two another name",
			d.record.namespace, d.record.operator, d.before.main, d.before.module, d.options.undeployment())
	}
	if err := d.survey(ctx, objects); err != nil {
		return err
	}
	if err := d.safe(ctx); err != nil {
		return err
	}
	return d.rehearse(ctx)
}

// survey reads the existing objects, and refuses to take over objects of another client.
func (d *deployer) survey(ctx context.Context, objects []*unstructured.Unstructured) error {
	var problems []error
	for _, object := range objects {
		live, err := d.cluster.Get(ctx, object)
		if err != nil {
			return fmt.Errorf("look for %s: %w", addressOf(object), err)
		}
		one := &item{want: object.DeepCopy(), live: live}
		if err := d.claim(ctx, one); err != nil {
			problems = append(problems, err)
		}
		d.items = append(d.items, one)
	}
	return errors.Join(problems...)
}

// claim determines whether an object belongs to the deployment. Only namespaces and definitions may belong to another client.
func (d *deployer) claim(ctx context.Context, one *item) error {
	own := d.record.id()
	if one.live == nil || partOf(one.live) == own {
		kube.SetLabel(one.want, plan.PartOfLabel, own)
		if one.live != nil && one.live.GetDeletionTimestamp() != nil {
			return fmt.Errorf("%s is being removed: wait until it is gone", addressOf(one.live))
		}
		return nil
	}
	address := addressOf(one.live)
	if one.live.GetLabels()[upLabel] != "" {
		return fmt.Errorf("%s was created by `operon up`: remove it first with `operon down`", address)
	}
	if isNamespace(one.live) || kube.IsCRD(one.live) {
		one.foreign = true
		if other := partOf(one.live); other != "" {
			kube.SetLabel(one.want, plan.PartOfLabel, other) // it remains part of the other deployment
		}
		d.options.say("%s existed before: `%s` will keep it", address, d.options.Commands.Undeploy)
		return nil
	}
	return fmt.Errorf("%s already exists%s: remove it, or give the operator another name", address, d.whose(ctx, one.live))
}

// whose describes the deployment to which an object belongs.
func (d *deployer) whose(ctx context.Context, object *unstructured.Unstructured) string {
	all, err := d.cluster.records(ctx)
	if err != nil {
		return " and does not belong to this deployment"
	}
	for _, other := range all {
		if other.id() == partOf(object) {
			remove := Target{Namespace: other.namespace, Where: d.options.Where}.undeployment()
			return fmt.Sprintf(", of the deployment of %s in namespace %s, which `%s` removes in its project", other.operator, other.namespace, remove)
		}
	}
	return " and was not created by `operon deploy`"
}

// safe rejects definitions that break stored objects.
func (d *deployer) safe(ctx context.Context) error {
	if d.options.UnsafeCRDs {
		return nil
	}
	if err := d.unconverted(); err != nil {
		return err
	}
	report, err := crdcompat.Check(ctx, d.cluster.Config, nil, d.operator.Definitions...)
	if err != nil {
		return fmt.Errorf("check what changed CRDs do to stored objects: %w; --unsafe-crds skips this check", err)
	}
	if report.Safe() {
		return nil
	}
	return fmt.Errorf("nothing was deployed, because the CRDs would break stored objects; fix the CRDs, migrate the objects first, or accept data loss with --unsafe-crds\n%s", strings.TrimRight(report.String(), "\n"))
}

// rehearse dry-runs each object on the API server, if possible. Objects in a namespace that does not exist yet are tried
// after it is created.
func (d *deployer) rehearse(ctx context.Context) error {
	var problems []error
	for _, one := range d.items {
		if d.skips(one) || one.tried || d.missesNamespace(one) {
			continue
		}
		made, err := d.cluster.DryRun(ctx, one.want)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", addressOf(one.want), err))
			continue
		}
		one.tried, one.differs = true, one.live == nil || !same(one.live, made)
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("nothing was deployed, because %s would be rejected:\n%w", plural.Count(len(problems), "object"), errors.Join(problems...))
}

// skips reports whether an object is never changed: a namespace of another client.
func (d *deployer) skips(one *item) bool { return one.foreign && isNamespace(one.want) }

func (d *deployer) missesNamespace(one *item) bool {
	return one.want.GetNamespace() == d.operator.Namespace && slices.ContainsFunc(d.items, func(other *item) bool {
		return isNamespace(other.want) && other.live == nil
	})
}

// foretell sets the result of a dry run.
func (d *deployer) foretell(ctx context.Context) error {
	for _, one := range d.items {
		d.note(one)
		if !one.tried && !d.skips(one) {
			d.result.Untried = append(d.result.Untried, addressOf(one.want))
		}
	}
	surplus, err := d.surplus(ctx)
	if err == nil && d.abandons(surplus) {
		var registered []*unstructured.Unstructured
		registered, err = d.cluster.registered(ctx, d.record)
		surplus = append(registered, surplus...)
	}
	for _, object := range surplus {
		into := &d.result.Pruned
		if kube.IsCRD(object) {
			into = &d.result.Kept
		}
		*into = append(*into, addressOf(object))
	}
	return err
}

// note adds an object to the result.
func (d *deployer) note(one *item) {
	into := &d.result.Unchanged
	switch {
	case d.skips(one):
	case one.live == nil:
		into = &d.result.Created
	case one.differs:
		into = &d.result.Changed
	}
	*into = append(*into, addressOf(one.want))
}
