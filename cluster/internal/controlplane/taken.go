package controlplane

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
)

const (
	apiServices = registry + "apiregistration.k8s.io/apiservices/"
	// forgetting is how often it is looked whether the aggregator has let go of a server, of which it tells nobody.
	forgetting = 20 * time.Millisecond
)

// release ends what others serve in the place of this API server, before Reset puts the APIServices back that lead here.
// An aggregator that sees one become the other goes on to tell, in the list of kinds, what it last found at the other
// server; so it is deleted first, and put back when the aggregator tells of this one's kinds.
func (cp *ControlPlane) release(ctx context.Context, first snapshot) error {
	entries, _, err := cp.store.entries(ctx)
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
	if _, err := cp.store.client.Txn(ctx).Then(deletions...).Commit(); err != nil {
		return err
	}
	client, err := discovery.NewDiscoveryClientForConfig(cp.AdminConfig())
	if err != nil {
		return err
	}
	for key, group := range taken {
		if err := cp.awaitRelease(ctx, client, group); err != nil {
			return fmt.Errorf("%s is served by another server: %w", strings.TrimPrefix(key, apiServices), err)
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
		if !was || !strings.HasPrefix(key, apiServices) {
			continue
		}
		now, err := readAPIService(entry.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		then, err := readAPIService(before)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		if now.Spec.Service != nil && then.Spec.Service == nil {
			taken[key] = schema.GroupVersion{Group: now.Spec.Group, Version: now.Spec.Version}
		}
	}
	return taken, nil
}

func readAPIService(data []byte) (*apiregistrationv1.APIService, error) {
	service := &apiregistrationv1.APIService{}
	return service, runtime.DecodeInto(aggregatorscheme.Codecs.UniversalDecoder(), data, service)
}

// awaitRelease returns when the aggregator leads to another server no more, and has forgotten that it could not be asked.
func (cp *ControlPlane) awaitRelease(ctx context.Context, client *discovery.DiscoveryClient, of schema.GroupVersion) error {
	path := "/apis/" + of.Group + "/" + of.Version
	ticks := time.NewTicker(forgetting)
	defer ticks.Stop()
	for {
		if !slices.Contains(cp.api.aggregator.GenericAPIServer.Handler.NonGoRestfulMux.ListedPaths(), path) {
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
