// Package clustercatalog manages ClusterCatalogs: it reads their catalogs, again when their period has passed, and reports packages that
// cannot be used.
package clustercatalog

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/operon-framework/operon"

	v1 "github.com/operon-framework/operon/internal/olm/api/extension/v1"
	"github.com/operon-framework/operon/olm/internal/catalogs"
)

// Composer manages ClusterCatalogs.
type Composer struct {
	Clock clock.PassiveClock
	// Catalogs reads the catalogs. The composer of CatalogSources may share it.
	Catalogs *catalogs.Poller
}

// Compose implements operon.Composer. A ClusterCatalog has no children.
func (c *Composer) Compose(ctx context.Context, catalog *v1.ClusterCatalog, out *operon.Composition) error {
	out.Label(v1.LabelName, operon.Name(63, catalog.Name))
	key := client.ObjectKeyFromObject(catalog)
	if catalog.Spec.AvailabilityMode == v1.ModeUnavailable {
		c.Catalogs.Forget(key)
		return nil
	}
	image := catalog.Spec.Source.Image
	again, err := c.Catalogs.Poll(ctx, catalog, catalogs.Place{Image: image.Ref}, periodOf(image))
	if err != nil {
		out.Wait(v1.ReasonRetrying, err.Error())
	}
	if again > 0 {
		out.RequeueAfter(again)
	}
	return nil
}

// periodOf returns how often an image is fetched again, or 0 for never.
func periodOf(image *v1.ImageSource) time.Duration {
	if image.PollIntervalMinutes == nil {
		return 0
	}
	return time.Duration(*image.PollIntervalMinutes) * time.Minute
}

// Observe implements operon.Observer.
func (c *Composer) Observe(_ context.Context, catalog *v1.ClusterCatalog, _ *operon.Observed) error {
	status, key := &catalog.Status, client.ObjectKeyFromObject(catalog)
	loaded, failed := c.Catalogs.Catalogs.Of(catalog), c.Catalogs.Last(key)
	if catalog.Spec.AvailabilityMode == v1.ModeUnavailable {
		status.ResolvedSource, status.LastUnpacked, status.Packages, status.Broken = nil, nil, 0, nil
		c.set(catalog, v1.Serving, metav1.ConditionFalse, v1.ReasonUserSpecifiedUnavailable, "spec.availabilityMode is Unavailable")
		c.set(catalog, v1.Progressing, metav1.ConditionTrue, v1.ReasonSucceeded, "The catalog is not used")
		return nil
	}
	if failed != nil {
		c.set(catalog, v1.Progressing, metav1.ConditionTrue, v1.ReasonRetrying, failed.Error())
	} else {
		c.set(catalog, v1.Progressing, metav1.ConditionTrue, v1.ReasonSucceeded, "The catalog was read")
	}
	if loaded == nil {
		c.set(catalog, v1.Serving, metav1.ConditionFalse, v1.ReasonUnavailable, "The catalog was not read yet")
		return nil
	}
	c.set(catalog, v1.Serving, metav1.ConditionTrue, v1.ReasonAvailable, "The catalog can be used")
	status.Packages, status.Broken = loaded.Packages(), loaded.Problems()
	return c.resolved(status, loaded)
}

// resolved writes which image was read, and when.
func (c *Composer) resolved(status *v1.ClusterCatalogStatus, loaded *catalogs.Loaded) error {
	reference, err := name.ParseReference(loaded.Reference())
	if err != nil {
		return err
	}
	read := reference.Context().Digest(loaded.Digest).Name()
	if status.ResolvedSource != nil && status.ResolvedSource.Image != nil && status.ResolvedSource.Image.Ref == read {
		return nil
	}
	now := metav1.NewTime(c.Clock.Now()).Rfc3339Copy()
	status.ResolvedSource = &v1.ResolvedSource{Type: v1.SourceImage, Image: &v1.ResolvedImage{Ref: read}}
	status.LastUnpacked = &now
	return nil
}

func (c *Composer) set(catalog *v1.ClusterCatalog, kind string, is metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&catalog.Status.States, metav1.Condition{
		Type: kind, Status: is, Reason: reason, Message: message, ObservedGeneration: catalog.Generation, LastTransitionTime: metav1.NewTime(c.Clock.Now()),
	})
}
