// Package source manages CatalogSources: it reads their catalogs, again when their period has passed, and reports packages that cannot be
// used.
package source

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/olm/internal/catalogs"
	"github.com/operon-framework/operon/olm/internal/served"
)

// Reasons of conditions.
const (
	ReasonSpecInvalid   = "SpecInvalidError"
	ReasonInterval      = "InvalidIntervalError"
	ReasonUnreadable    = "RegistryServerError"
	ReasonConfigMap     = "ConfigMapError"
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
	place, err := placeOf(ctx, source, out)
	if err != nil {
		return err
	}
	period, _ := periodOf(source)
	again, err := c.Catalogs.Poll(ctx, source, place, period)
	if err != nil {
		out.Wait(reasonReadingFailed, err.Error())
	}
	if again > 0 {
		out.RequeueAfter(again)
	}
	return nil
}

// placeOf returns where a catalog is. A ConfigMap is watched.
func placeOf(ctx context.Context, source *v1alpha1.CatalogSource, out *operon.Composition) (catalogs.Place, error) {
	place := catalogs.PlaceOf(source)
	if !inConfigMap(source) {
		return place, nil
	}
	live := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: source.Namespace, Name: source.Spec.ConfigMap}}
	live.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	found, err := out.Get(ctx, live)
	if found {
		place.Version = live.ResourceVersion
	}
	return place, err
}

func inConfigMap(source *v1alpha1.CatalogSource) bool {
	return source.Spec.SourceType == v1alpha1.SourceConfigMap || source.Spec.SourceType == v1alpha1.SourceInternal
}

func invalid(source *v1alpha1.CatalogSource) string {
	switch spec := source.Spec; {
	case inConfigMap(source) && spec.ConfigMap == "":
		return fmt.Sprintf("spec.configMap: it is empty: with the type %s, it is the name of a ConfigMap in the namespace", spec.SourceType)
	case inConfigMap(source):
	case spec.SourceType != v1alpha1.SourceGRPC:
		return fmt.Sprintf("spec.sourceType: %q is not known: use %s with spec.image or spec.address, or %s with spec.configMap",
			spec.SourceType, v1alpha1.SourceGRPC, v1alpha1.SourceConfigMap)
	case spec.Image == "" && spec.Address == "":
		return "spec.image: it is empty, and so is spec.address: a catalog is read from an image or a server"
	case spec.Image == "":
		if err := served.Check(spec.Address); err != nil {
			return "spec.address: " + err.Error()
		}
	}
	return ""
}

// periodOf returns how often a catalog is read again, and why its interval is not valid. An image with a digest never changes, and a ConfigMap is
// watched.
func periodOf(source *v1alpha1.CatalogSource) (time.Duration, string) {
	strategy := source.Spec.UpdateStrategy
	switch {
	case inConfigMap(source), strings.Contains(source.Spec.Image, "@"):
		return 0, ""
	case strategy != nil && strategy.RegistryPoll != nil && strategy.RegistryPoll.Interval != "":
		text := strategy.RegistryPoll.Interval
		period, err := time.ParseDuration(text)
		if err != nil || period <= 0 {
			return timing.invalid, fmt.Sprintf("spec.updateStrategy.registryPoll.interval: %q is not a duration such as 30m: the catalog is read again every %s", text, timing.invalid)
		}
		return period, ""
	case source.Spec.Image == "":
		return timing.served, ""
	}
	return 0, ""
}

// Observe implements operon.Observer.
func (c *Composer) Observe(_ context.Context, source *v1alpha1.CatalogSource, _ *operon.Observed) error {
	status := &source.Status
	key := client.ObjectKeyFromObject(source)
	failed := c.Catalogs.Last(key)
	state, reason, message := v1alpha1.StateReady, "", ""
	if _, problem := periodOf(source); problem != "" {
		reason, message = ReasonInterval, problem
	}
	switch problem := invalid(source); {
	case problem != "":
		state, reason, message = "", ReasonSpecInvalid, problem
	case failed != nil:
		state, reason, message = v1alpha1.StateTransientFailure, ReasonUnreadable, failed.Error()
	}
	if reason == ReasonUnreadable && inConfigMap(source) {
		reason = ReasonConfigMap
	}
	status.Reason, status.Message = reason, message
	if status.ConnectionState == nil || status.ConnectionState.LastObservedState != state {
		now := metav1.NewTime(c.Clock.Now()).Rfc3339Copy()
		status.ConnectionState = &v1alpha1.ConnectionState{LastObservedState: state, LastConnect: &now}
	}
	status.ConnectionState.Address, status.ConfigMap = "", nil
	if source.Spec.Image == "" && !inConfigMap(source) {
		status.ConnectionState.Address = source.Spec.Address
	}
	if loaded := c.Catalogs.Catalogs.Of(source); loaded != nil {
		status.Digest, status.Packages, status.Broken = loaded.Digest, loaded.Packages(), loaded.Problems()
		if place := loaded.Place(); place.ConfigMap != "" {
			status.ConfigMap = &v1alpha1.ConfigMapReference{Name: place.ConfigMap, Namespace: source.Namespace, ResourceVersion: place.Version}
		}
	}
	return nil
}
