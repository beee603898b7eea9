package fast

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kube-aggregator/pkg/controllers/autoregister"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
)

// newGarbage builds the garbage collector like app.Run does, but the collector checks for new kinds as soon as there is news of
// any. It returns nil if the settings disable the collector.
//
// The collector's Sync checks at a fixed period. Its period here is short, and the discovery client blocks it until there is a
// reason to check.
func newGarbage(ctx context.Context, manager app.ControllerContext) (app.Controller, error) {
	if manager.GraphBuilder == nil {
		return nil, nil
	}
	const user = "generic-garbage-collector"
	client, err := manager.NewClient(user)
	if err != nil {
		return nil, err
	}
	served, err := manager.ClientBuilder.DiscoveryClient(user)
	if err != nil {
		return nil, err
	}
	config, err := manager.NewClientConfig(user)
	if err != nil {
		return nil, err
	}
	config.QPS *= 2 // like app.Run: a deletion takes two requests
	writer, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	collector, err := garbagecollector.NewComposedGarbageCollector(ctx, client, writer, manager.RESTMapper, manager.GraphBuilder)
	if err != nil {
		return nil, err
	}
	news, err := newsOfKinds(manager)
	if err != nil {
		return nil, err
	}
	workers := int(manager.ComponentConfig.GarbageCollectorController.ConcurrentGCSyncs)
	return loop{names.GarbageCollectorController, func(ctx context.Context) {
		var group sync.WaitGroup
		defer group.Wait()
		group.Go(func() { collector.Run(ctx, workers, timing.newKindsPeriod) })
		group.Go(func() {
			collector.Sync(ctx, &heldDiscovery{ServerResourcesInterface: served, news: news, done: ctx.Done()}, timing.newKindsPause)
		})
	}}, nil
}

// newsOfKinds returns a channel that receives a value when a kind may have been added or removed. It needs no additional watch:
// the collector watches these two kinds, like all others.
func newsOfKinds(manager app.ControllerContext) (<-chan struct{}, error) {
	news := make(chan struct{}, 1)
	tell := func(object any) {
		if !partOfServer(object) {
			leave(news)
		}
	}
	for _, resource := range []schema.GroupVersionResource{
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
		{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
	} {
		informer, err := manager.ObjectOrMetadataInformerFactory.ForResource(resource)
		if err != nil {
			return nil, err
		}
		_, err = informer.Informer().AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{
			AddFunc:    tell,
			UpdateFunc: func(_, object any) { tell(object) },
			DeleteFunc: tell,
		}, 0)
		if err != nil {
			return nil, err
		}
	}
	return news, nil
}

// partOfServer reports whether object is an APIService of built-in kinds. The collector discovers these on its first check:
// about three dozen exist by then, and they must not trigger another check.
func partOfServer(object any) bool {
	about, err := meta.Accessor(object)
	return err == nil && about.GetLabels()[autoregister.AutoRegisterManagedLabel] == "onstart"
}

// leave sends a note unless the channel already contains one.
func leave(notes chan<- struct{}) {
	select {
	case notes <- struct{}{}:
	default:
	}
}

// heldDiscovery returns the served kinds at once on the first call, then when there is news of kinds, and every 30 s. A kind
// may be served only a moment after its news. Therefore it returns again several times after news, at growing intervals.
type heldDiscovery struct {
	discovery.ServerResourcesInterface
	news <-chan struct{}
	done <-chan struct{}

	pause time.Duration // until the next answer without news; 0: no answer yet
}

// ServerPreferredResources is the query of the collector. It must not be called concurrently.
func (d *heldDiscovery) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	d.hold()
	return d.ServerResourcesInterface.ServerPreferredResources()
}

func (d *heldDiscovery) hold() {
	timer := time.NewTimer(d.pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		if d.pause *= 2; d.pause == 0 || d.pause > timing.newKindsPeriod {
			d.pause = timing.newKindsPeriod
		}
	case <-d.news:
		d.pause = timing.newKindsPause
		d.settle()
	case <-d.done:
	}
}

func (d *heldDiscovery) settle() {
	select {
	case <-time.After(timing.newKindsSettle):
	case <-d.done:
	}
	select {
	case <-d.news:
	default:
	}
}
