package sim

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/util/workqueue"
)

// hearts renews the leases of the nodes, with which the node lifecycle controller detects that they are alive. One goroutine
// renews all leases, with one write for each node.
type hearts struct {
	client   typedcoordinationv1.LeasesGetter
	interval time.Duration
	alive    func(node string) bool
	log      *slog.Logger
	queue    workqueue.TypedDelayingInterface[beat]

	mu      sync.Mutex
	beating map[string]types.UID
}

// beat is a node whose lease must be renewed.
type beat struct {
	node string
	uid  types.UID
}

func newHearts(client typedcoordinationv1.LeasesGetter, interval time.Duration, alive func(string) bool, log *slog.Logger) *hearts {
	return &hearts{
		client: client, interval: interval, alive: alive, log: log,
		queue:   workqueue.NewTypedDelayingQueue[beat](),
		beating: map[string]types.UID{},
	}
}

// start starts the renewals for the node, unless they are already running.
func (h *hearts) start(node *corev1.Node) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.beating[node.Name] == node.UID {
		return
	}
	h.beating[node.Name] = node.UID
	h.queue.Add(beat{node.Name, node.UID})
}

// beats reports whether the renewals continue. If they stop, they can be started again.
func (h *hearts) beats(b beat) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.beating[b.node] != b.uid {
		return false // another node now has the same name
	}
	if h.alive(b.node) {
		return true
	}
	delete(h.beating, b.node)
	return false
}

// run renews leases until ctx ends.
func (h *hearts) run(ctx context.Context) {
	defer context.AfterFunc(ctx, h.queue.ShutDown)()
	for {
		b, shutdown := h.queue.Get()
		if shutdown {
			return
		}
		h.beat(ctx, b)
		h.queue.Done(b)
	}
}

func (h *hearts) beat(ctx context.Context, b beat) {
	if ctx.Err() != nil || !h.beats(b) {
		return
	}
	next := h.interval - time.Duration(rand.Int64N(int64(h.interval/10)+1)) // so the renewals of nodes are spread over time
	if err := h.renew(ctx, b); err != nil && ctx.Err() == nil {
		h.log.Warn("a simulated node cannot renew its lease; trying again", "node", b.node, "error", err)
		next = min(next, time.Second)
	}
	h.queue.AddAfter(b, next)
}

// renew writes the lease without reading it. It creates the lease if it does not exist.
func (h *hearts) renew(ctx context.Context, b beat) error {
	leases := h.client.Leases(corev1.NamespaceNodeLease)
	at := metav1.NowMicro()
	patch := fmt.Appendf(nil, `{"spec":{"renewTime":%q}}`, at.UTC().Format(metav1.RFC3339Micro))
	_, err := leases.Patch(ctx, b.node, types.MergePatchType, patch, metav1.PatchOptions{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	_, err = leases.Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name:            b.node,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: b.node, UID: b.uid}},
		},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity:       &b.node,
			LeaseDurationSeconds: new(int32(4 * h.interval / time.Second)),
			RenewTime:            &at,
		},
	}, metav1.CreateOptions{})
	return err
}
