package operon

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	ctrlreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/go-logr/logr"

	"github.com/operon-framework/operon/internal/runtime/reconcile"
	"github.com/operon-framework/operon/internal/runtime/shard"
)

// shardLease is the default lease duration of a replica, equal to that of a leader.
const shardLease = 15 * time.Second

// unready is the requeue delay for an object of this replica while the replica may not write.
const unready = 100 * time.Millisecond

// replicas describes how an operator shares its objects with other replicas, if it does.
type replicas struct {
	member *shard.Member // nil if replicas do not share objects
	// shared are the kinds whose objects the replicas share.
	shared sync.Map
}

// share makes the operator one of several replicas if cfg requests it. Its requests are fenced.
func (r *replicas) share(cluster *rest.Config, operator string, cfg Config) error {
	if cfg.Shards == 0 {
		return nil
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("shards: name this replica: %w", err)
	}
	name := Name(50, strings.ToLower(host), strings.ToLower(rand.Text()[:6])) // a host may start several, one at a time
	r.member, err = shard.New(shard.Config{
		Namespace: cfg.ownNamespace(), Operator: operator, Name: name,
		Slots: cfg.Shards, Lease: cmp.Or(cfg.ShardLease, shardLease), Clock: cfg.Clock,
	})
	if err != nil {
		return fmt.Errorf("shards: %w", err)
	}
	rest.AddUserAgent(cluster, "replica/"+name)
	cluster.Wrap(r.member.Wrap)
	return nil
}

// join makes the manager start the member, with the client and the logger that it needs.
func (r *replicas) join(manager ctrl.Manager, direct client.WithWatch, log logr.Logger) error {
	if r.member == nil {
		return nil
	}
	r.member.Client, r.member.Log = direct, log
	return manager.Add(r.member)
}

// mine returns a function that reports whether this replica owns an object, or nil if replicas do not share objects.
func (r *replicas) mine() func(context.Context, types.UID) bool {
	if r.member == nil {
		return nil
	}
	return r.member.Covers
}

// needsLeader returns whether controllers wait until the replica leads; nil means the manager's default.
func (r *replicas) needsLeader() *bool {
	if r.member == nil {
		return nil
	}
	return new(false)
}

// newInformer returns a constructor for the informers of the manager's cache. For shared kinds, they contain only the
// objects of this replica.
func (r *replicas) newInformer(scheme *runtime.Scheme) func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer {
	return func(all toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		kind, err := apiutil.GVKForObject(example, scheme)
		object, ok := example.(client.Object)
		if err == nil && ok {
			all = r.member.Owners(all, kind, object, func() bool {
				_, shared := r.shared.Load(kind.GroupKind())
				return shared
			})
		}
		return toolscache.NewSharedIndexInformer(all, example, resync, indexers)
	}
}

// sharing limits a reconciler to the objects of this replica.
func (r *replicas) sharing(kind schema.GroupKind, example client.Object, cached client.Reader, next ctrlreconcile.Reconciler) ctrlreconcile.Reconciler {
	if r.member == nil {
		return next
	}
	r.shared.Store(kind, true)
	return &sharing{member: r.member, cached: cached, example: reflect.TypeOf(example).Elem(), next: next}
}

// sharing is the reconciler of one of several replicas.
type sharing struct {
	member  *shard.Member
	cached  client.Reader
	example reflect.Type
	next    ctrlreconcile.Reconciler
}

// Reconcile implements reconcile.Reconciler. An object that is not in the cache was deleted, or belongs to another
// replica now. In both cases its recorded state is dropped, and nothing is written.
func (s *sharing) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	object, ok := reflect.New(s.example).Interface().(client.Object)
	if !ok {
		return reconcile.Result{}, fmt.Errorf("%s is no object", s.example)
	}
	err := s.cached.Get(ctx, request.NamespacedName, object)
	if apierrors.IsNotFound(err) {
		return s.next.Reconcile(s.member.Outside(ctx), request)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	within, leave, ok := s.member.Enter(ctx, object.GetUID())
	if !ok {
		return reconcile.Result{RequeueAfter: unready}, nil
	}
	result, err := s.next.Reconcile(within, request)
	if !leave() {
		return reconcile.Result{RequeueAfter: unready}, nil
	}
	return result, err
}

// mayShare returns an error that lists the missing permissions for Leases. If the operator may not create the review
// either, the problem shows later.
func (r *replicas) mayShare(ctx context.Context, direct client.Client) error {
	if r.member == nil {
		return nil
	}
	var missing []string
	for _, verb := range []string{"get", "list", "watch", "create", "update", "delete"} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: r.member.Namespace, Verb: verb, Group: "coordination.k8s.io", Version: "v1", Resource: "leases",
			},
		}}
		err := direct.Create(ctx, review)
		if ctx.Err() != nil || apierrors.IsForbidden(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("shards: ask for the permissions: %w", err)
		}
		if !review.Status.Allowed {
			missing = append(missing, verb)
		}
	}
	if len(missing) > 0 {
		return errors.New("shards: the operator may not " + strings.Join(missing, ", ") + " leases.coordination.k8s.io in namespace " + r.member.Namespace +
			", by which replicas share objects: allow it by a Role there, or run it without shards")
	}
	return nil
}
