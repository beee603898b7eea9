package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/operon-framework/operon/internal/core/plan"
)

// RecordAnnotation on the operator's record lists, a line for each kind of owner, the kinds
// of children that were ever composed for it: Memcached.cache.example.com=Deployment.apps.
const RecordAnnotation = "operon.dev/composed-kinds"

// Record stores in the cluster which kinds of children an operator has composed, so that
// a newer version, which composes other kinds, finds and prunes the kinds that it dropped.
//
// Guarantees: a kind is recorded before its first child is created.
// Assumptions: the operator may get, create and update Leases in its namespace, which leader
// election needs too.
// Caveats: without this permission, the failure is logged once, and only the kinds of this process are
// known. A kind is never removed automatically; a user may remove it.
type Record struct {
	client client.Client
	key    client.ObjectKey
	// claimed finds the kinds that the record does not contain. All kinds of owners share it.
	claimed *claimed

	mu     sync.Mutex
	loaded bool
	denied bool
	kinds  map[schema.GroupKind]map[schema.GroupKind]bool
}

// NewRecord returns the record of an operator, the Lease name-kinds in a namespace. The
// client must not read from a cache.
func NewRecord(client client.Client, namespace, name string) *Record {
	r := &Record{client: client, claimed: newClaimed(), kinds: map[schema.GroupKind]map[schema.GroupKind]bool{}}
	r.key.Namespace, r.key.Name = namespace, name+"-kinds"
	return r
}

// Kinds returns the kinds of children that were ever composed for a kind of owner.
func (r *Record) Kinds(ctx context.Context, owner schema.GroupKind) ([]schema.GroupKind, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.load(ctx); err != nil {
		return nil, err
	}
	return plan.ParseGroupKinds(plan.GroupKinds(r.kinds[owner])), nil
}

// Add records kinds that are not in the record yet.
func (r *Record) Add(ctx context.Context, owner schema.GroupKind, kinds []schema.GroupKind) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.load(ctx); err != nil {
		return err
	}
	if r.denied || !slices.ContainsFunc(kinds, func(kind schema.GroupKind) bool { return !r.kinds[owner][kind] }) {
		return nil
	}
	overtaken := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) } // by another replica
	err := retry.OnError(retry.DefaultBackoff, overtaken, func() error { return r.write(ctx, owner, kinds) })
	return r.tolerate(ctx, err)
}

// load reads the record once. The lock is held.
func (r *Record) load(ctx context.Context) error {
	if r.loaded || r.denied {
		return nil
	}
	lease := &coordinationv1.Lease{}
	err := r.client.Get(ctx, r.key, lease)
	if client.IgnoreNotFound(err) != nil {
		return r.tolerate(ctx, err)
	}
	r.read(lease)
	r.loaded = true
	return nil
}

func (r *Record) read(lease *coordinationv1.Lease) {
	for line := range strings.Lines(lease.Annotations[RecordAnnotation]) {
		owner, children, _ := strings.Cut(strings.TrimSpace(line), "=")
		r.note(schema.ParseGroupKind(owner), plan.ParseGroupKinds(children))
	}
}

func (r *Record) note(owner schema.GroupKind, kinds []schema.GroupKind) {
	r.kinds[owner] = with(r.kinds[owner], members(kinds))
}

// write adds kinds to the record in the cluster.
func (r *Record) write(ctx context.Context, owner schema.GroupKind, kinds []schema.GroupKind) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: r.key.Namespace, Name: r.key.Name}}
	err := r.client.Get(ctx, r.key, lease)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	r.read(lease)
	all := maps.Clone(r.kinds)
	all[owner] = with(r.kinds[owner], members(kinds))
	lease.Annotations = with(lease.Annotations, map[string]string{RecordAnnotation: text(all)})
	send := func() error { return r.client.Update(ctx, lease) }
	if apierrors.IsNotFound(err) {
		send = func() error { return r.client.Create(ctx, lease) }
	}
	if err := send(); err != nil {
		return err
	}
	r.note(owner, kinds)
	return nil
}

func text(all map[schema.GroupKind]map[schema.GroupKind]bool) string {
	var lines []string
	for owner, kinds := range all {
		lines = append(lines, owner.String()+"="+plan.GroupKinds(kinds))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func members(kinds []schema.GroupKind) map[schema.GroupKind]bool {
	set := map[schema.GroupKind]bool{}
	for _, kind := range kinds {
		set[kind] = true
	}
	return set
}

// tolerate continues without a record if the operator lacks the permission for it.
func (r *Record) tolerate(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		r.denied = true
		log.FromContext(ctx).Error(err, "children of kinds that a newer version of this operator drops will not be pruned, because it may not record them", "lease", r.key)
		return nil
	}
	return fmt.Errorf("record the kinds of children: %w", err)
}
