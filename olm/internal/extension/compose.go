// Package extension manages ClusterExtensions: it chooses versions of packages in ClusterCatalogs, and makes an OperatorGroup and InstallPlans,
// which install and run them.
package extension

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"

	v1 "github.com/operon-framework/operon/internal/olm/api/extension/v1"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/olm/internal/catalogs"
	"github.com/operon-framework/operon/olm/internal/limit"
	"github.com/operon-framework/operon/olm/internal/passes"
)

// Composer manages ClusterExtensions.
type Composer struct {
	Clock    clock.PassiveClock
	Catalogs *catalogs.Catalogs
	Cluster  limit.Cluster

	client client.Client

	passes passes.Store[pass]
}

// Connect gives the composer a connection, to remove versions that could not be installed and are not wanted any more.
func (c *Composer) Connect(manager ctrl.Manager) error {
	c.client = manager.GetClient()
	return nil
}

// pass is what one reconcile found out, from Compose to Observe.
type pass struct {
	// complete means that Compose did not fail. Otherwise the status stays as it is.
	complete bool
	versions versions
	// from is the package that the version was chosen from, or that offers no version, or nil if no catalog has it.
	from *offer
	// unwanted is a version that was not installed completely, and is not wanted any more, or nil.
	unwanted *v1alpha1.ClusterServiceVersion
	// reason and message say why the version that should be installed is not. They are empty if it is.
	reason, message string
}

// refusal is why nothing is installed or upgraded until something changes.
type refusal struct {
	reason, message string
	// retreats means that the namespace belongs to others: the OperatorGroup that was declared for a first installation is removed again.
	retreats bool
}

func (r refusal) Error() string { return r.message }

// rolling returns a refusal that ends when the installation continues.
func rolling(format string, values ...any) error {
	return refusal{reason: v1.ReasonRollingOut, message: fmt.Sprintf(format, values...)}
}

// retry returns a refusal that can end without a change of the ClusterExtension.
func retry(format string, values ...any) error {
	return refusal{reason: v1.ReasonRetrying, message: fmt.Sprintf(format, values...)}
}

// Compose implements operon.Composer. What is installed stays while something refuses an upgrade.
func (c *Composer) Compose(ctx context.Context, of *v1.ClusterExtension, out *operon.Composition) (failed error) {
	p := c.passes.Begin(of, &pass{})
	defer func() { p.complete = failed == nil }()
	err := c.compose(ctx, of, out, p)
	var why refusal
	if !errors.As(err, &why) {
		return err
	}
	p.reason, p.message = why.reason, why.message
	switch why.reason {
	case v1.ReasonBlocked:
		out.Fail(why.reason, why.message)
	case v1.ReasonRetrying:
		if why.retreats && p.versions.tip == nil {
			out.Warning(why.reason, why.message)
		} else {
			out.Wait(why.reason, why.message)
		}
		out.RequeueAfter(timing.again)
	}
	return nil
}

// compose declares the OperatorGroup, and the plan of the version that has to be installed. The plan is removed when it is complete, the version
// works, and the version before, which reads it, is gone.
func (c *Composer) compose(ctx context.Context, of *v1.ClusterExtension, out *operon.Composition, p *pass) error {
	var err error
	if p.versions, err = versionsOf(ctx, of, out); err != nil {
		return err
	}
	if p.versions.tip != nil {
		out.Child(groupOf(of)) // it is repaired even if nothing can be chosen
	}
	chosen, err := c.choose(ctx, of, out, p)
	if err != nil {
		return err
	}
	now := p.versions
	if now.settled() && now.tip.Name == chosen.name {
		return unfinished(ctx, of, out, now)
	}
	if now.tip != nil && now.installed == now.tip && !now.settled() {
		out.Partial()
		return rolling("waits until the version before %s is removed", now.tip.Name)
	}
	if now.tip != now.installed && now.tip.Name != chosen.name {
		plans, err := plansOf(ctx, of, out, now.tip.Name)
		if err != nil {
			return err
		}
		for i := range plans {
			if now.continues(of.Spec.Source.Catalog, &plans[i]) {
				return proceed(out, &plans[i], now)
			}
		}
		p.unwanted = now.tip
		return rolling("removes %s, which was not installed completely", now.tip.Name)
	}
	if now.tip == now.installed { // it is not being installed yet
		if err := c.check(ctx, of, out, chosen); err != nil {
			return err
		}
	}
	if now.tip == nil {
		out.Child(groupOf(of))
	}
	return c.install(ctx, of, out, c.wantedPlan(of, chosen, now), now)
}

// choose chooses the version that should be installed.
func (c *Composer) choose(ctx context.Context, of *v1.ClusterExtension, out *operon.Composition, p *pass) (choice, error) {
	filter := of.Spec.Source.Catalog
	if _, err := rangeOf(filter); err != nil { // a mistake is reported before the catalogs are read
		return choice{}, refusal{reason: v1.ReasonBlocked, message: err.Error()}
	}
	offers, selected, err := c.offers(ctx, filter, out)
	if err != nil {
		return choice{}, err
	}
	installed, err := p.versions.base()
	if err != nil {
		return choice{}, err
	}
	chosen, err := choose(filter, installed, offers)
	switch {
	case err != nil && !selected && p.versions.keeps(filter.Version): // its catalogs were deleted
		return choice{version: *installed}, nil
	case err != nil:
		p.from = first(offers)
		return choice{}, retry("%s", err.Error())
	}
	p.from = &chosen.offer
	return chosen, nil
}

// first returns the offer with the highest priority, or nil if there is none.
func first(offers []offer) *offer {
	if len(offers) == 0 {
		return nil
	}
	found := slices.MaxFunc(offers, func(a, b offer) int { return cmp.Compare(a.priority, b.priority) })
	return &found
}
