package reset

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/operon-framework/operon/cluster/internal/controlplane/storage"
)

// release ends the serving of groups by other servers before Reset restores the APIServices that refer to this API server. If
// an APIService were changed in place, the aggregator would continue to list the kinds that it last found at the other server.
// Therefore the APIService is deleted first, and restored when the aggregator lists the kinds of this server.
func (r *Resetter) release(ctx context.Context, first snapshot) error {
	entries, _, err := readEntries(ctx, r.etcd)
	if err != nil {
		return err
	}
	taken, err := takenOver(entries, first)
	if err != nil || len(taken) == 0 {
		return err
	}
	var deletions []clientv3.Op
	for key := range taken {
		deletions = append(deletions, clientv3.OpDelete(key))
	}
	if _, err := r.etcd.Txn(ctx).Then(deletions...).Commit(); err != nil {
		return err
	}
	client, err := discovery.NewDiscoveryClientForConfig(r.admin)
	if err != nil {
		return err
	}
	for key, group := range taken {
		if err := r.awaitRelease(ctx, client, group); err != nil {
			return fmt.Errorf("%s is served by another server: %w", strings.TrimPrefix(key, storage.APIServices), err)
		}
	}
	return nil
}

// takenOver returns the APIServices that refer to another server now, and to this one in the first state: key → served version.
func takenOver(entries []*mvccpb.KeyValue, first snapshot) (map[string]schema.GroupVersion, error) {
	taken := map[string]schema.GroupVersion{}
	for _, entry := range entries {
		key := string(entry.Key)
		before, was := first[key]
		if !was || !strings.HasPrefix(key, storage.APIServices) {
			continue
		}
		now, err := storage.ReadAPIService(entry.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		then, err := storage.ReadAPIService(before)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		if now.Spec.Service != nil && then.Spec.Service == nil {
			taken[key] = schema.GroupVersion{Group: now.Spec.Group, Version: now.Spec.Version}
		}
	}
	return taken, nil
}

// awaitRelease returns when the aggregator does not proxy to another server any more, and does not report it as unavailable.
func (r *Resetter) awaitRelease(ctx context.Context, client *discovery.DiscoveryClient, of schema.GroupVersion) error {
	path := "/apis/" + of.Group + "/" + of.Version
	ticks := time.NewTicker(timing.releasePeriod)
	defer ticks.Stop()
	for {
		if !slices.Contains(r.aggregator.GenericAPIServer.Handler.NonGoRestfulMux.ListedPaths(), path) {
			_, _, unknown, err := client.GroupsAndMaybeResources()
			if err != nil || unknown[of] == nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks.C:
		}
	}
}
