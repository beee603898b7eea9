// Package source manages CatalogSources: it reads their catalogs, again when their period has passed, and reports packages that cannot be
// used.
package source

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/olm/internal/catalogs"
)

// Reasons of conditions.
const (
	ReasonSpecInvalid   = "SpecInvalidError"
	ReasonUnreadable    = "RegistryServerError"
	reasonReadingFailed = "CatalogUnreadable"
)

// Composer manages CatalogSources.
type Composer struct {
	Clock clock.PassiveClock
	// Catalogs reads the catalogs. The composer of ClusterCatalogs may share it.
	Catalogs *catalogs.Poller
}

// Compose implements operon.Composer. A CatalogSource has no children.
func (c *Composer) Compose(ctx context.Context, source *v1alpha1.CatalogSource, out *operon.Composition) error {
	if problem := invalid(source); problem != "" {
		out.Fail(ReasonSpecInvalid, problem)
		return nil
	}
	again, err := c.Catalogs.Poll(ctx, source, source.Spec.Image, periodOf(source), source.Spec.Secrets...)
	if err != nil {
		out.Wait(reasonReadingFailed, err.Error())
	}
	if again > 0 {
		out.RequeueAfter(again)
	}
	return nil
}

func invalid(source *v1alpha1.CatalogSource) string {
	switch spec := source.Spec; {
	case spec.SourceType != v1alpha1.SourceGRPC:
		return fmt.Sprintf("spec.sourceType: %q is not supported: use %s with spec.image", spec.SourceType, v1alpha1.SourceGRPC)
	case spec.Image == "":
		return "spec.image: it is empty: catalogs are read from images"
	}
	return ""
}

// periodOf returns how often an image is fetched again. One with a digest never changes.
func periodOf(source *v1alpha1.CatalogSource) time.Duration {
	strategy := source.Spec.UpdateStrategy
	if strategy == nil || strategy.RegistryPoll == nil || strategy.RegistryPoll.Interval == nil || strings.Contains(source.Spec.Image, "@") {
		return 0
	}
	return strategy.RegistryPoll.Interval.Duration
}

// Observe implements operon.Observer.
func (c *Composer) Observe(_ context.Context, source *v1alpha1.CatalogSource, _ *operon.Observed) error {
	status := &source.Status
	key := client.ObjectKeyFromObject(source)
	failed := c.Catalogs.Last(key)
	state, reason, message := v1alpha1.StateReady, "", ""
	switch problem := invalid(source); {
	case problem != "":
		state, reason, message = "", ReasonSpecInvalid, problem
	case failed != nil:
		state, reason, message = v1alpha1.StateTransientFailure, ReasonUnreadable, failed.Error()
	}
	status.Reason, status.Message = reason, message
	if status.ConnectionState == nil || status.ConnectionState.LastObservedState != state {
		now := metav1.NewTime(c.Clock.Now()).Rfc3339Copy()
		status.ConnectionState = &v1alpha1.ConnectionState{LastObservedState: state, LastConnect: &now}
	}
	if loaded := c.Catalogs.Catalogs.Get(key); loaded != nil {
		status.Digest, status.Packages, status.Broken = loaded.Digest, loaded.Packages(), loaded.Problems()
	}
	return nil
}
