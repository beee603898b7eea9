package fast

import (
	"context"
	"errors"
	"strings"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/namespace/deletion"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
)

// namespaces is a controller that deletes the contents of namespaces that are being deleted.
type namespaces struct {
	lister  corelisters.NamespaceLister
	synced  cache.InformerSynced
	queue   workqueue.TypedRateLimitingInterface[string]
	etcd    *clientv3.Client // nil: settings of the API server change where objects are stored
	deleter deletion.NamespacedResourcesDeleterInterface
}

func deleteNamespacesAtOnce(s *start) {
	var etcd *clientv3.Client
	if keysAreKnown(s.cfg) {
		s.extend(controlplane.Extension{Stored: func(_ context.Context, client *clientv3.Client, _ bool) error {
			etcd = client
			return nil
		}})
	}
	s.extend(controlplane.Extension{Admission: rejectLate})
	s.controllers.replace(names.NamespaceController, func(ctx context.Context, manager app.ControllerContext) (app.Controller, error) {
		return newNamespaces(ctx, manager, etcd)
	})
}

// keysAreKnown reports whether the API server stores all objects in its etcd under their default keys.
func keysAreKnown(cfg controlplane.Config) bool {
	for flag := range cfg.APIServer {
		if strings.HasPrefix(flag, "etcd-") {
			return false
		}
	}
	return true
}

// newNamespaces builds the namespace controller. It removes the same objects as the one of kube-controller-manager, with the
// same code, but it starts five seconds earlier, and retries earlier if pods take long to terminate.
func newNamespaces(ctx context.Context, manager app.ControllerContext, etcd *clientv3.Client) (app.Controller, error) {
	config, err := manager.NewClientConfig("namespace-controller")
	if err != nil {
		return nil, err
	}
	config.QPS *= 20 // like app.Run: each kind is queried
	config.Burst *= 100
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	informer := manager.InformerFactory.Core().V1().Namespaces()
	n := &namespaces{
		lister: informer.Lister(), synced: informer.Informer().HasSynced,
		etcd:  etcd,
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](timing.namespaceRetryMin, timing.namespaceRetryMax)),
		deleter: deletion.NewNamespacedResourcesDeleter(ctx, finalizer{client.CoreV1().Namespaces(), etcd}, present{objects}, client.CoreV1(),
			client.Discovery().ServerPreferredNamespacedResources, corev1.FinalizerKubernetes),
	}
	settings := manager.ComponentConfig.NamespaceController
	_, err = informer.Informer().AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{
		AddFunc:    n.note,
		UpdateFunc: func(_, object any) { n.note(object) },
	}, settings.NamespaceSyncPeriod.Duration)
	if err != nil {
		return nil, err
	}
	workers := int(settings.ConcurrentNamespaceSyncs)
	return loop{names.NamespaceController, func(ctx context.Context) { n.run(ctx, workers) }}, nil
}

// note enqueues a namespace that is being deleted.
func (n *namespaces) note(object any) {
	if namespace, ok := object.(*corev1.Namespace); ok && namespace.DeletionTimestamp != nil {
		n.queue.AddAfter(namespace.Name, timing.namespaceNotice)
	}
}

func (n *namespaces) run(ctx context.Context, workers int) {
	var group sync.WaitGroup
	defer group.Wait()
	defer n.queue.ShutDown()
	if !cache.WaitForCacheSync(ctx.Done(), n.synced) {
		return
	}
	for range workers {
		group.Go(func() {
			for n.next(ctx) {
			}
		})
	}
	<-ctx.Done()
}

// next processes one namespace of the queue. It returns false when the queue is shut down.
func (n *namespaces) next(ctx context.Context) bool {
	name, over := n.queue.Get()
	if over {
		return false
	}
	defer n.queue.Done(name)
	err := n.empty(ctx, name)
	if err == nil {
		n.queue.Forget(name)
		return true
	}
	if remaining := new(deletion.ResourcesRemainingError); !errors.As(err, &remaining) {
		klog.FromContext(ctx).Error(err, "cannot empty the namespace", "namespace", name)
	}
	n.queue.AddRateLimited(name)
	return true
}

func (n *namespaces) empty(ctx context.Context, name string) error {
	if _, err := n.lister.Get(name); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	if n.etcd == nil {
		return n.deleter.Delete(ctx, name)
	}
	stored, err := readContent(ctx, n.etcd, name)
	if err != nil {
		return err
	}
	if err = n.deleter.Delete(withContent(ctx, stored), name); errors.Is(err, errLeft) {
		return n.deleter.Delete(ctx, name)
	}
	return err
}
