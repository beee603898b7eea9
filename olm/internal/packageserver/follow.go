package packageserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/olm/internal/catalogs"
)

// annotationPaused is reconcile.PausedAnnotation: if it is "true", the manager leaves an object as it is.
const annotationPaused = "operon.dev/paused"

// NeedLeaderElection implements manager.LeaderElectionRunnable: every replica answers.
func (*Reader) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable. It reads the catalogs that the leader has read, until this replica leads.
func (r *Reader) Start(ctx context.Context) error {
	next := time.NewTimer(timing.first)
	defer next.Stop()
	for followed := map[client.ObjectKey]string{}; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-r.manager.Elected():
			return nil
		case <-next.C:
			next.Reset(timing.again)
			if err := r.follow(ctx, followed); err != nil {
				r.manager.GetLogger().Error(err, "read the catalogs that the leader has read")
			}
		}
	}
}

// follow reads the catalogs of which the leader has reported another digest than in followed, and forgets those that do not exist any more.
func (r *Reader) follow(ctx context.Context, followed map[client.ObjectKey]string) error {
	all, err := r.visible(ctx, "")
	problems := []error{err}
	for key := range followed {
		if err == nil && !slices.ContainsFunc(all, func(one v1alpha1.CatalogSource) bool { return client.ObjectKeyFromObject(&one) == key }) {
			r.Catalogs.Forget(key)
			r.failed.Delete(key)
			delete(followed, key)
		}
	}
	for i := range all {
		of, key := &all[i], client.ObjectKeyFromObject(&all[i])
		if !isReady(of) || r.Catalogs.Of(of) != nil && followed[key] == of.Status.Digest {
			continue
		}
		place := catalogs.PlaceOf(of)
		if at := of.Status.ConfigMap; at != nil {
			place.Version = at.ResourceVersion
		}
		limited, cancel := context.WithTimeout(ctx, timing.load)
		_, err := r.Catalogs.Load(limited, of, place)
		cancel()
		if err != nil {
			problems = append(problems, fmt.Errorf("CatalogSource %s: %w", key, err))
			r.failed.Store(key, true)
			continue
		}
		r.failed.Delete(key)
		followed[key] = of.Status.Digest
	}
	return errors.Join(problems...)
}

// gone forgets the catalog of a deleted CatalogSource.
func (r *Reader) gone(object any) bool {
	if last, is := object.(toolscache.DeletedFinalStateUnknown); is {
		object = last.Obj
	}
	if one, is := object.(client.Object); is && r.Catalogs.Of(one) != nil {
		r.Catalogs.Forget(client.ObjectKeyFromObject(one))
	}
	return true
}

// isReady reports whether the leader has read a catalog.
func isReady(of *v1alpha1.CatalogSource) bool {
	state := of.Status.ConnectionState
	return state != nil && state.LastObservedState == v1alpha1.StateReady
}
