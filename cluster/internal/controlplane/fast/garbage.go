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

// newGarbage builds the garbage collector, as app.Run does; but it looks for new kinds as
// soon as there is news of any. nil: the settings have none.
//
// The collector's Sync looks in a fixed period. Its period here is short, and what it looks
// through holds it until there is reason to look.
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
	config.QPS *= 2 // as app.Run: a deletion takes two requests
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

// newsOfKinds returns a channel that holds something when a kind may have come or gone. It
// costs no watch: the collector has one on these two, as on everything else.
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

// partOfServer tells the APIServices of built-in kinds, of which the collector learns when it
// first looks: three dozen of them are there by then, and they are not to make it look again.
func partOfServer(object any) bool {
	about, err := meta.Accessor(object)
	return err == nil && about.GetLabels()[autoregister.AutoRegisterManagedLabel] == "onstart"
}

// leave leaves a note unless one is there.
func leave(notes chan<- struct{}) {
	select {
	case notes <- struct{}{}:
	default:
	}
}

// heldDiscovery answers what kinds are served at once the first time, then when there is news
// of kinds, and every 30 s. What the news is of may be served a moment later only, so that
// it answers again after news, ever later.
type heldDiscovery struct {
	discovery.ServerResourcesInterface
	news <-chan struct{}
	done <-chan struct{}

	pause time.Duration // until the next answer without news; 0: there was none yet
}

// ServerPreferredResources is what the collector asks for. Only one may ask at a time.
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
