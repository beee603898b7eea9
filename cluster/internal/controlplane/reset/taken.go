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

// release ends what others serve instead of this API server, before Reset puts the APIServices back that lead here.
// An aggregator that sees one become the other continues to tell, in the list of kinds, what it last found at the other
// server; so it is deleted first, and put back when the aggregator tells of this one's kinds.
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

// takenOver are the APIServices that lead to another server now, and to this one in the first state: key → what is served.
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

// awaitRelease returns when the aggregator leads to another server no more, and has forgotten that it could not be asked.
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
