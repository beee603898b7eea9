// Package installplan manages InstallPlans: it writes the objects of bundles, after approval, and only if stored objects survive the changes of
// CustomResourceDefinitions.
package installplan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/core/condition"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/contents"
	"github.com/operon-framework/operon/internal/olm/phase"
	"github.com/operon-framework/operon/internal/olm/render"
	"github.com/operon-framework/operon/olm/internal/catalogs"
	"github.com/operon-framework/operon/olm/internal/limit"
	"github.com/operon-framework/operon/olm/internal/passes"
)

// AnnotationBundles names the catalogs of the versions of a plan: a list of NAME=NAMESPACE/CATALOG, separated by commas. The Subscription that
// made the plan writes it. Bundles only come from catalogs that an administrator installed.
const AnnotationBundles = "olm.bundles"

// AnnotationReplaces is the version that the version of a plan replaces. It is missing for a first installation.
const AnnotationReplaces = "olm.replaces"

// AnnotationRestores is on a plan that writes the objects of an installed version again, without its ClusterServiceVersion and
// CustomResourceDefinitions. It is the version that has replaced the installed one and was rolled back.
const AnnotationRestores = "olm.restores"

// AnnotationTakesOver is on a plan that writes nothing: it only grants the permissions of an installed version again, as its bundle has them. Its
// Subscription makes it for a version that another lifecycle manager has installed.
const AnnotationTakesOver = "olm.takes-over"

// annotationWritten is on ClusterServiceVersions that a plan wrote.
const annotationWritten = "olm.written-by-plan"

// Wrote reports whether a plan wrote a version. Without a complete plan, its bundle may not be written completely.
func Wrote(csv *v1alpha1.ClusterServiceVersion) bool { return csv.Annotations[annotationWritten] != "" }

// Reasons of the Ready condition of a plan.
const (
	ReasonRequiresApproval = "RequiresApproval"
	ReasonBundleUnreadable = "BundleUnreadable"
	ReasonBundleInvalid    = "BundleInvalid"
	ReasonBundleChanged    = "BundleChanged"
	ReasonUnsafeCRD        = "UnsafeCustomResourceDefinition"
	ReasonForeignObject    = "ForeignObject"
	ReasonForbidden        = "GroupServiceAccountForbidden"
	ReasonExtension        = "NamespaceOfClusterExtension"
	reasonWaitingForCSV    = "WaitingForCSV"
	reasonPermission       = "WaitingForPermission"
)

// Composer manages InstallPlans.
type Composer struct {
	Clock    clock.PassiveClock
	Catalogs *catalogs.Catalogs
	// Global is the namespace whose catalogs all namespaces can use.
	Global  string
	Cluster limit.Cluster

	config  *rest.Config
	reviews authenticationclient.SelfSubjectReviewInterface
	// started is when the manager started.
	started time.Time

	passes passes.Store[pass]
}

// Connect gives the composer a connection, for the check of stored objects.
func (c *Composer) Connect(manager ctrl.Manager) error {
	client, err := authenticationclient.NewForConfigAndClient(manager.GetConfig(), manager.GetHTTPClient())
	if err != nil {
		return err
	}
	c.config, c.reviews, c.started = manager.GetConfig(), client.SelfSubjectReviews(), c.Clock.Now()
	return nil
}

// pass is what one reconcile found out, from Compose to Observe.
type pass struct {
	// complete means that Compose did not fail. Otherwise the status stays as it is.
	complete bool
	// stays means that the status stays as it is.
	stays   bool
	lookups []v1alpha1.BundleLookup
	steps   []v1alpha1.Step
	// changes describe how objects differ from those in the bundles.
	changes []string
	// contents are the objects of the steps of a plan that waits for approval.
	contents []*unstructured.Unstructured
	// waits is the phase that holds the plan, if it does not install.
	waits   v1alpha1.InstallPlanPhase
	message string
	// declarations declare the objects of a plan, when it is known that none is refused.
	declarations []func()
	// held is why the version before must not be replaced, if nothing else was written because of that.
	held string
	// leftOut are the messages about objects of kinds that the cluster lacks, by Kind/name.
	leftOut map[string]string
}

// later adds a declaration.
func (p *pass) later(declare func()) { p.declarations = append(p.declarations, declare) }

// declare declares the objects of the plan, unless it waits for something without which it cannot be checked. Before, nothing of a plan exists that
// turns out to be refused: an operator would run without a part of what it needs.
func (p *pass) declare() {
	if p.waits != "" {
		return
	}
	for _, declare := range p.declarations {
		declare()
	}
}

// Compose implements operon.Composer. The objects are children until all are written, and are left behind then: they belong to the
// ClusterServiceVersion.
func (c *Composer) Compose(ctx context.Context, of *v1alpha1.InstallPlan, out *operon.Composition) (failed error) {
	if of.Status.Phase == v1alpha1.PlanComplete || isForeign(of) {
		return nil
	}
	p := c.passes.Begin(of, &pass{})
	defer func() { p.complete = failed == nil }()
	bundles, err := c.bundles(ctx, of, p)
	if errors.Is(err, catalogs.ErrChanged) {
		return c.refuse(refusal{ReasonBundleChanged, err.Error() + ": delete the plan, so that its Subscription makes another one"}, p, out)
	}
	if errors.As(err, &refusal{}) {
		return c.refuse(err, p, out)
	}
	if err != nil {
		c.awaitBundle(of, err, p, out)
		return nil
	}
	if !of.Spec.Approved {
		if err := record(p.steps, p.contents); err != nil {
			return err
		}
		p.waits = v1alpha1.PlanRequiresApproval
		if p.message, err = c.foreseen(ctx, of, bundles, out); err != nil {
			return err
		}
		out.Wait(ReasonRequiresApproval, "waits for spec.approved")
		return nil
	}
	if err := c.limited(ctx, of, bundles, out); err != nil {
		return c.refuse(err, p, out)
	}
	if of.Annotations[AnnotationTakesOver] != "" {
		return nil
	}
	for _, objects := range bundles {
		if err := c.install(ctx, of, objects, p, out); err != nil {
			return c.refuse(err, p, out)
		}
	}
	p.declare()
	return nil
}

// awaitBundle makes a plan wait for a bundle that cannot be read. A manager that has just started has no catalogs yet, which says nothing about
// the plan: its status stays as it is, so that a restart writes nothing. Later, the status says which catalog is missing.
func (c *Composer) awaitBundle(of *v1alpha1.InstallPlan, err error, p *pass, out *operon.Composition) {
	out.RequeueAfter(timing.retry)
	before := meta.FindStatusCondition(of.Status.Report.Conditions, condition.Ready)
	starts := errors.Is(err, catalogs.ErrNotRead) && c.Clock.Since(c.started) < timing.start
	if starts && before != nil && before.Status == metav1.ConditionFalse {
		p.stays = true
		out.Wait(before.Reason, before.Message)
		return
	}
	p.waits, p.message = v1alpha1.PlanPlanning, err.Error()
	out.Wait(ReasonBundleUnreadable, err.Error())
}

// refusal is why a plan cannot be carried out until something else changes.
type refusal struct{ reason, message string }

func (r refusal) Error() string { return r.reason + ": " + r.message }

func (c *Composer) refuse(err error, p *pass, out *operon.Composition) error {
	var why refusal
	if !errors.As(err, &why) {
		return err
	}
	p.waits, p.message = v1alpha1.PlanFailed, why.message
	out.Fail(why.reason, why.message)
	out.RequeueAfter(timing.again)
	return nil
}

// foreseen returns why a plan that waits for approval would be refused because of permissions or other operators, or an empty string.
func (c *Composer) foreseen(ctx context.Context, of *v1alpha1.InstallPlan, bundles []*contents.Objects, out *operon.Composition) (string, error) {
	err := c.limited(ctx, of, bundles, out)
	for _, one := range bundles {
		if err != nil || of.Annotations[AnnotationRestores] != "" {
			break
		}
		err = (&writing{of: of, out: out}).used(ctx, one)
	}
	var why refusal
	if errors.As(err, &why) {
		return why.message, nil
	}
	return "", err
}

// bundles reads the bundles of a plan, and returns their objects.
func (c *Composer) bundles(ctx context.Context, of *v1alpha1.InstallPlan, p *pass) ([]*contents.Objects, error) {
	sources, err := sourcesOf(of)
	if err != nil {
		return nil, err
	}
	pins := pinsOf(of)
	var all []*contents.Objects
	for _, name := range of.Spec.ClusterServiceVersionNames {
		source, ok := sources[name]
		if !ok {
			return nil, fmt.Errorf("the annotation %s names no catalog for %s", AnnotationBundles, name)
		}
		if source.Namespace != "" && source.Namespace != of.Namespace && source.Namespace != c.Global { // a ClusterCatalog has no namespace
			return nil, fmt.Errorf("the annotation %s: catalogs of the namespace %s can only be used there", AnnotationBundles, source.Namespace)
		}
		read, err := c.Catalogs.Bundle(ctx, source, name, pins[name])
		if err != nil {
			return nil, err
		}
		objects, err := read.Bundle.Objects(of.Namespace, read.Properties, of.Annotations[AnnotationReplaces])
		if err != nil {
			return nil, refusal{ReasonBundleInvalid, fmt.Sprintf("%s: %v: offer a corrected bundle in the catalog", name, err)}
		}
		if owner := extensionOf(of); owner != nil {
			objects.CSV.SetOwnerReferences([]metav1.OwnerReference{*owner})
		}
		digest, err := render.PermissionsDigest(objects.Typed)
		if err != nil {
			return nil, err
		}
		found := lookup(read, name, source)
		found.Replaces, found.PermissionsDigest = of.Annotations[AnnotationReplaces], digest
		p.lookups = append(p.lookups, found)
		written := objects.All()
		switch {
		case of.Annotations[AnnotationTakesOver] != "":
			written = nil
		case of.Annotations[AnnotationRestores] != "":
			written = objects.Others
		}
		for _, object := range written {
			if change := objects.Change(object); change != "" {
				p.changes = append(p.changes, change)
			}
			p.steps = append(p.steps, step(of, name, source, object))
		}
		if !of.Spec.Approved {
			p.contents = append(p.contents, written...)
		}
		all = append(all, objects)
	}
	return all, nil
}

// install declares the objects of a bundle. Objects in the namespace get a reference to the ClusterServiceVersion, so that they are deleted
// with it, and therefore wait for it.
func (c *Composer) install(ctx context.Context, of *v1alpha1.InstallPlan, objects *contents.Objects, p *pass, out *operon.Composition) error {
	w := &writing{of: of, csv: objects.CSV.GetName(), pass: p, out: out}
	if of.Annotations[AnnotationRestores] != "" {
		return w.others(ctx, objects.Others)
	}
	var err error
	if w.before, err = version(ctx, of.Namespace, objects.Typed.Spec.Replaces, out); err != nil {
		return err
	}
	annotate(objects.CSV, annotationWritten, "true")
	if err := w.declare(ctx, objects.CSV); err != nil {
		return err
	}
	undecided := len(p.declarations)
	for _, crd := range objects.CRDs {
		if err := c.definition(ctx, w, objects.Typed, crd); err != nil {
			return err
		}
	}
	if err := w.others(ctx, objects.Others); err != nil {
		return err
	}
	stays, err := w.notUpgradeable(ctx)
	if err != nil || stays == "" || w.begun { // half of the objects of a version are worse than all of them
		return err
	}
	p.held = stays
	p.declarations = append(p.declarations[:undecided], func() { out.Wait(phase.ReasonNotUpgradeable, stays) })
	return nil
}

// version reads a ClusterServiceVersion. It returns nil if it does not exist.
func version(ctx context.Context, namespace, name string, out *operon.Composition) (*v1alpha1.ClusterServiceVersion, error) {
	if name == "" {
		return nil, nil
	}
	csv := &v1alpha1.ClusterServiceVersion{}
	csv.Namespace, csv.Name = namespace, name
	found, err := out.Get(ctx, csv)
	if err != nil || !found {
		return nil, err
	}
	return csv, nil
}
