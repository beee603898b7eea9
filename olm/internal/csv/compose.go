package csv

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/core/rotation"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/phase"
	"github.com/operon-framework/operon/internal/olm/render"
	"github.com/operon-framework/operon/olm/internal/limit"
	"github.com/operon-framework/operon/olm/internal/passes"
	"github.com/operon-framework/operon/olm/internal/require"
	"github.com/operon-framework/operon/olm/internal/serving"
)

// Composer manages ClusterServiceVersions.
type Composer struct {
	Clock   clock.PassiveClock
	Cluster interface {
		require.Cluster
		limit.Cluster
	}
	// Times are the lifetimes of certificates. Default: serving.DefaultTimes.
	Times rotation.Times

	client client.Client
	reader client.Reader // without a cache
	// started is when the manager started.
	started time.Time

	passes passes.Store[pass]
}

// Connect gives the composer a connection, for what is not a child: the Secrets before certificates are issued, and the conversion of kinds.
func (c *Composer) Connect(manager ctrl.Manager) error {
	c.client, c.reader, c.started = manager.GetClient(), manager.GetAPIReader(), c.Clock.Now()
	return nil
}

func (c *Composer) times() rotation.Times {
	if c.Times == (rotation.Times{}) {
		return serving.DefaultTimes
	}
	return c.Times
}

// pass is what one reconcile found out about a ClusterServiceVersion, from Compose to Observe.
type pass struct {
	// complete means that Compose did not fail. Otherwise the facts are not known, and the status stays as it is.
	complete     bool
	facts        phase.Facts
	requirements []v1alpha1.Requirement
	// deployments and apis are the names of the Deployments and APIServices that were declared.
	deployments, apis []string
	// conversions are those of the operator, and handedKinds the kinds that the next version converts now.
	conversions []render.Conversion
	handedKinds []string
	// issued, rotateAt and again are the times of the certificates. They are zero if there are none.
	issued, rotateAt, again time.Time
	// dryRun means that nothing may be written.
	dryRun bool
	// config are the changes of the Subscription.
	config *apiextensionsv1.JSON
	// granted is the digest for which permissions are granted.
	granted string
	// changed means that permissions were granted for another digest than the present one.
	changed bool
	// doubles are objects of another lifecycle manager that do what objects of this one do. They are deleted when those exist.
	doubles []client.Object
	// controlled are objects that an object of another lifecycle manager controls.
	controlled []*metav1.PartialObjectMetadata
	// shared are the names of Deployments whose fields another lifecycle manager owns, too.
	shared []string
	// foreign is which object of the operator belongs to another one, with what to do. Empty: none is known.
	foreign string
	// held means that the objects of the operator were not declared.
	held bool
}

// Compose implements operon.Composer. The operator's objects are declared as soon as nothing is missing. When something is missing later,
// they stay.
func (c *Composer) Compose(ctx context.Context, csv *v1alpha1.ClusterServiceVersion, out *operon.Composition) error {
	group, problem, err := c.group(ctx, csv, out)
	if errors.Is(err, errGroupUnknown) {
		out.Wait("WaitingForGroup", err.Error()) // the group is read again when they are
		return nil
	}
	if err != nil {
		return err
	}
	n, err := neighborsOf(ctx, csv, out)
	if err != nil {
		return err
	}
	if group.Config, err = n.config(ctx, out); err != nil {
		return err
	}
	if problem.Reason == "" {
		for key, value := range group.Annotations() {
			out.Annotate(key, value)
		}
		if problem, err = n.refused(ctx, out, group); err != nil {
			return err
		}
	}
	p := c.passes.Begin(csv, &pass{})
	p.dryRun = out.DryRun()
	if p.config, err = recorded(group.Config); err != nil {
		return err
	}
	stays, err := n.upgradeable(ctx, out)
	if err != nil {
		return err
	}
	if err := n.permissions(ctx, out, group, problem, stays != "", p); err != nil {
		return err
	}
	if p.changed && problem.Reason == "" {
		problem = phase.Problem{Reason: reasonChanged, Message: messageChanged}
	}
	requirements, met, err := require.Check(ctx, csv, out, c.Cluster)
	if err != nil {
		return err
	}
	p.requirements = requirements
	p.facts = phase.Facts{Problem: problem, RequirementsMet: met, Missing: require.Missing(requirements), NotUpgradeable: stays, Started: c.started}
	if p.facts.Predecessor, err = n.waits(ctx, out, p.granted); err != nil {
		return err
	}
	if err := n.replaced(ctx, out, &p.facts); err != nil {
		return err
	}
	if err := n.rollBack(ctx, out, &p.facts); err != nil {
		return err
	}
	if reason, message := held(csv, p.facts); reason != "" {
		p.held, p.complete = true, true
		out.Wait(reason, message)
		return nil
	}
	if err := c.run(ctx, n, out, group, p); err != nil {
		return err
	}
	p.complete = true
	return nil
}

// refused returns why an operator cannot be installed.
func (n *neighbors) refused(ctx context.Context, out *operon.Composition, group render.Group) (phase.Problem, error) {
	if problem, err := n.conflict(ctx, out, group); err != nil || problem.Reason != "" {
		return problem, err
	}
	if _, problem := objects(n.csv, group, nil); problem.Reason != "" {
		return problem, nil
	}
	if problem, err := n.foreignAPIs(ctx, out); err != nil || problem.Reason != "" {
		return problem, err
	}
	return n.foreignConversion(ctx, out)
}

// run declares what runs an operator.
func (c *Composer) run(ctx context.Context, n *neighbors, out *operon.Composition, group render.Group, p *pass) error {
	for _, object := range render.Condition(n.csv) {
		if err := n.condition(ctx, out, object, p); err != nil {
			return err
		}
	}
	if p.granted != "" { // what is applied by hand grants nothing to users either
		for _, object := range render.APIRoles(n.csv) {
			out.Child(object)
		}
	}
	names, _ := objects(n.csv, group, nil) // refused has reported mistakes
	live, err := n.existing(ctx, out, group, names)
	if err != nil {
		return err
	}
	certificates, err := c.certificates(ctx, n, out, group, live, p)
	if err != nil {
		return err
	}
	wanted, _ := objects(n.csv, group, certificates)
	p.doubles = n.oldWebhooks(wanted, live)
	if p.granted != "" {
		if err := n.oldPermissions(ctx, out, group, p); err != nil {
			return err
		}
	}
	if err := n.clusterScoped(ctx, out, p); err != nil {
		return err
	}
	n.declare(out, wanted, live, p)
	return nil
}

// held returns why the objects of an operator cannot be declared, or empty strings.
func held(csv *v1alpha1.ClusterServiceVersion, facts phase.Facts) (reason, message string) {
	switch {
	case facts.Problem.Reason != "":
		return facts.Problem.Reason, facts.Problem.Message
	case csv.Status.Phase == v1alpha1.PhaseReplacing || csv.Status.Phase == v1alpha1.PhaseDeleting:
		return "", "" // it works until the next version has taken over
	case facts.NotUpgradeable != "":
		return phase.ReasonNotUpgradeable, facts.NotUpgradeable
	case !facts.RequirementsMet:
		return phase.ReasonRequirementsNotMet, facts.NotMet()
	case facts.Predecessor != "":
		return reasonPredecessor, facts.Predecessor
	}
	return "", ""
}

const (
	reasonPredecessor = "WaitingForPredecessor"
	reasonChanged     = "PermissionsChanged"
	messageChanged    = "the permissions in spec.install, or the kinds that the operator provides, are not those of the bundle: restore them, or delete the ClusterServiceVersion, so that its Subscription installs it again"
)

// objects returns the objects that run an operator, or why there are none. Without certificates, only their names are right.
func objects(csv *v1alpha1.ClusterServiceVersion, group render.Group, certificates map[string]render.Certificate) ([]render.Child, phase.Problem) {
	if strategy := csv.Spec.Install.Strategy; strategy != v1alpha1.StrategyDeployment {
		return nil, phase.Problem{Reason: phase.ReasonInvalidStrategy, Message: fmt.Sprintf("spec.install.strategy: %q is not supported: use %s", strategy, v1alpha1.StrategyDeployment)}
	}
	all, err := render.Children(csv, group, certificates)
	var webhook *render.WebhookError
	var api *render.APIServiceError
	switch {
	case errors.As(err, &webhook):
		return nil, phase.Problem{Reason: phase.ReasonInvalidWebhook, Message: err.Error()}
	case errors.As(err, &api):
		return nil, phase.Problem{Reason: phase.ReasonInvalidAPIService, Message: err.Error()}
	case err != nil:
		return nil, phase.Problem{Reason: phase.ReasonInvalidStrategy, Message: err.Error()}
	}
	return all, phase.Problem{}
}
