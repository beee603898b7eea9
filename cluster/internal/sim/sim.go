package sim

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
)

// The number of workers for each kind. A worker waits for the API server most of the time.
const (
	podWorkers   = 16
	nodeWorkers  = 8
	otherWorkers = 4
)

// component is the source of the events of simulated objects.
const component = "operon-sim"

// Sim simulates the nodes of one cluster.
type Sim struct {
	cfg    Config
	client kubernetes.Interface
	cancel context.CancelFunc
	group  sync.WaitGroup
}

// Start registers the nodes and the StorageClass, and returns when the nodes are ready. The simulation runs until ctx ends.
// Wait returns when it has stopped completely.
func Start(ctx context.Context, cfg Config) (*Sim, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	client, err := newClient(cfg.Client)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &Sim{cfg: cfg, client: client, cancel: cancel}
	if err := s.start(ctx); err != nil {
		cancel()
		s.Wait()
		return nil, err
	}
	return s, nil
}

// Wait returns when the context of Start has ended and all goroutines and listeners of the simulation have stopped.
func (s *Sim) Wait() {
	s.group.Wait()
	s.cancel()
}

// newClient returns a client that is not rate limited and uses Protobuf.
func newClient(config *rest.Config) (kubernetes.Interface, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.UserAgent = component
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("sim: Config.Client: %w", err)
	}
	return client, nil
}

func (s *Sim) start(ctx context.Context) error {
	version, err := s.client.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("the API server does not answer: %w", err)
	}
	endpoint, err := listen(s.cfg.Serving, s.cfg.ClientCA, s.cfg.Log)
	if err != nil {
		return err
	}
	s.run(ctx, endpoint.serve)
	waiting, err := s.Restore(ctx)
	if err != nil {
		return err
	}
	nodes, pods, err := s.newMachines(ctx, endpoint.port(), version.GitVersion, waiting)
	if err != nil {
		return err
	}
	s.run(ctx, nodes.hearts.run)
	s.run(ctx, newFeed(s.watch("nodes", simulated), nodes, nodeWorkers, s.cfg.Log).run)
	services := &services{client: s.client.CoreV1(), addresses: newAddresses(s.cfg.LoadBalancers)}
	s.run(ctx, newFeed(s.watch("services", everything), services, otherWorkers, s.cfg.Log).run)
	recorder := s.newRecorder(ctx)
	claims := &claims{client: s.client, recorder: recorder}
	if s.cfg.Contents {
		claims.folder = s.cfg.Volumes
	}
	s.run(ctx, newFeed(s.watch("persistentvolumeclaims", everything), claims, otherWorkers, s.cfg.Log).run)
	volumes := &volumes{client: s.client, recorder: recorder, folder: s.cfg.Volumes, contents: s.cfg.Contents, known: map[string]*corev1.PersistentVolume{}}
	volumes.feed = newFeed(s.watch("persistentvolumes", everything), volumes, otherWorkers, s.cfg.Log)
	s.run(ctx, volumes.feed.run)
	if err := nodes.awaitSettled(ctx); err != nil {
		return err
	}
	nodes.pods.begin()
	s.run(ctx, pods.run)
	return nil
}

// newMachines builds the handlers of nodes and pods, which depend on each other: the state of a pod depends on its node, and a
// change of a node enqueues its pods again.
func (s *Sim) newMachines(ctx context.Context, port int, version string, waiting sets.Set[string]) (*nodes, *feed[*corev1.Pod], error) {
	recorder := s.newRecorder(ctx)
	nodeEngine, err := newEngine("node", recorder)
	if err != nil {
		return nil, nil, err
	}
	podEngine, err := newEngine("pod", recorder)
	if err != nil {
		return nil, nil, err
	}
	n := &nodes{
		client: s.client.CoreV1(), engine: nodeEngine, port: port, version: version,
		states: map[string]nodeState{}, waiting: waiting, settled: make(chan struct{}),
	}
	if waiting.Len() == 0 {
		close(n.settled)
	}
	p := &pods{
		client: s.client.CoreV1(), engine: podEngine, nodes: n,
		addresses: newAddresses(s.cfg.Pods), arrivals: newArrivals(),
	}
	feed := newFeed(s.watch("pods", scheduled), p, podWorkers, s.cfg.Log)
	n.pods = &podsOfNodes{client: s.client.CoreV1(), feed: feed, seen: map[string]nodeState{}}
	n.hearts = newHearts(s.client.CoordinationV1(), s.cfg.Heartbeat, n.ready, s.cfg.Log)
	return n, feed, nil
}

func (s *Sim) run(ctx context.Context, part func(context.Context)) {
	s.group.Go(func() { part(ctx) })
}

// Selections of the objects that feeds watch.
func everything(*metav1.ListOptions) {}

func simulated(options *metav1.ListOptions) { options.LabelSelector = NodeLabel + "=true" }

func scheduled(options *metav1.ListOptions) {
	options.FieldSelector = fields.OneTermNotEqualSelector("spec.nodeName", "").String()
}

func (s *Sim) watch(resource string, what func(*metav1.ListOptions)) cache.ListerWatcher {
	return cache.NewFilteredListWatchFromClient(s.client.CoreV1().RESTClient(), resource, metav1.NamespaceAll, what)
}

// newRecorder returns a recorder that writes events until ctx ends.
func (s *Sim) newRecorder(ctx context.Context) record.EventRecorder {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: s.client.CoreV1().Events(metav1.NamespaceAll)})
	return broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component})
}
