package webhook

import (
	"context"
	"io"
	"log"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// quiet drops the log lines of connections that end early: a probe of a port, or an API
// server that has used another connection.
var quiet = log.New(io.Discard, "", 0)

// watch wakes the loop when one of its objects changes, or when this process becomes the leader. Each object
// is watched by its name, and only its metadata is held.
func (k *keeper) watch(ctx context.Context) {
	for _, one := range k.registry.all {
		k.watchOne(ctx, one.id(), "")
	}
	if kept, ok := k.source.(*own); ok && k.serves() {
		if shared, ok := kept.store.(*secret); ok {
			k.watchOne(ctx, ident{kind: secretKind, name: shared.key.Name}, shared.key.Namespace)
		}
	}
	go func() {
		select {
		case <-ctx.Done():
		case <-k.Leads:
			k.nudge()
		}
	}()
}

func (k *keeper) watchOne(ctx context.Context, of ident, namespace string) {
	narrow := func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, of.name).String()
	}
	informer := toolscache.NewSharedIndexInformerWithOptions(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			narrow(&options)
			endpoint, err := k.Wire.Endpoint(of.kind, resourceclient.Metadata)
			if err != nil {
				return nil, err
			}
			return endpoint.List(ctx, namespace, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
			narrow(&options)
			endpoint, err := k.Wire.Endpoint(of.kind, resourceclient.Metadata)
			if err != nil {
				return nil, err
			}
			return endpoint.Watch(ctx, namespace, options)
		},
	}, &metav1.PartialObjectMetadata{}, toolscache.SharedIndexInformerOptions{ObjectDescription: of.String()})
	_, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { k.nudge() },
		UpdateFunc: func(any, any) { k.nudge() },
		DeleteFunc: func(any) { k.nudge() },
	})
	if err != nil {
		k.Log.Error(err, "webhooks: changes cannot be watched", "of", of.String()) // only for an informer that has ended, and this one has not
		return
	}
	go informer.RunWithContext(ctx)
	go func() {
		select {
		case <-ctx.Done():
		case <-informer.HasSyncedChecker().Done():
			k.nudge() // earlier deletions cause no watch event
		}
	}()
}
