package shard

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/shardtable"
)

// peers are the other replicas. Fields are guarded by the member's lock.
type peers struct {
	*base
	// seen are the leases of the other members, by id.
	seen map[string]*sight
}

// sight is what was observed of another member.
type sight struct {
	lease *coordinationv1.Lease
	// at is when its last heartbeat was observed, on the clock of this machine.
	at time.Time
	// gone means that its lease was deleted, which does not say when the member notices.
	gone bool
}

// term is how long a member counts as live after a heartbeat.
func (s *sight) term(own time.Duration) time.Duration {
	if s.lease == nil || s.lease.Spec.LeaseDurationSeconds == nil {
		return own
	}
	return max(time.Duration(*s.lease.Spec.LeaseDurationSeconds)*time.Second, time.Second)
}

// heard records the Lease of another member: a new version is a heartbeat. The lock is held.
func (p *peers) heard(id string, lease *coordinationv1.Lease) {
	s := p.seen[id]
	if s == nil || s.lease == nil || s.lease.ResourceVersion != lease.ResourceVersion {
		p.seen[id] = &sight{lease: lease, at: p.Clock.Now()}
	}
}

// deleted records that the Lease of another member does not exist anymore. The lock is held.
func (p *peers) deleted(id string) {
	if s := p.seen[id]; s != nil {
		s.gone = true
	}
}

// mentioned records a member that is in the table and has no Lease. The lock is held.
func (p *peers) mentioned(id string) {
	if p.seen[id] == nil {
		p.seen[id] = &sight{at: p.Clock.Now(), gone: true}
	}
}

// sort adds the live and the dead to a view. It returns whether one of them has worked by a table, and after how long
// the next lease expires. The lock is held.
func (p *peers) sort(view *shardtable.View) (worked bool, next time.Duration) {
	next = longest
	for id, s := range p.seen {
		left := s.term(p.timing.lease) - p.since(s.at)
		switch {
		case left <= 0:
			view.Dead = append(view.Dead, id)
			continue
		case !s.gone && s.lease.Annotations[LeavesAnnotation] == "":
			view.Live = append(view.Live, id)
		}
		worked = worked || s.lease != nil && s.lease.Annotations[WorksAnnotation] != ""
		next = min(next, left)
	}
	return worked, next
}

// expel deletes the leases of the dead. It returns false if one of them renewed its lease in the meantime.
// held reports whether a member is in the table; it is called with the lock held.
func (p *peers) expel(ctx context.Context, dead []string, held func(id string) bool) bool {
	for _, id := range dead {
		p.mu.Lock()
		s := *p.seen[id]
		p.mu.Unlock()
		if !s.gone && !p.delete(ctx, s.lease) {
			return false
		}
		p.buried(id, s.lease, held)
	}
	return true
}

// buried records that a member's lease is deleted, and forgets a member that is not in the table anymore either.
func (p *peers) buried(id string, lease *coordinationv1.Lease, held func(id string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.seen[id]
	if s == nil || s.lease != lease {
		return
	}
	s.gone = true
	if !held(id) {
		delete(p.seen, id)
	}
}

func (p *peers) delete(ctx context.Context, lease *coordinationv1.Lease) bool {
	err := p.brief(ctx, func(ctx context.Context) error {
		return p.Client.Delete(ctx, lease, client.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion})
	})
	if client.IgnoreNotFound(err) == nil {
		p.Log.Info("a replica's lease expired; taking over its objects", "lease", lease.Name)
		return true
	}
	if !apierrors.IsConflict(err) {
		p.Log.Error(err, "cannot delete the expired lease of a replica", "lease", lease.Name)
	}
	return false
}

// watch follows the Leases of all members and the table. The returned channel is closed when all have
// been read once. One watch covers all, so that a member in the table was seen before the table.
func (m *Member) watch(life context.Context) (synced <-chan struct{}) {
	options := func(o metav1.ListOptions) []client.ListOption {
		return []client.ListOption{client.InNamespace(m.Namespace), client.MatchingLabels{GroupLabel: m.Operator}, &client.ListOptions{Raw: &o}}
	}
	source := &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list := &coordinationv1.LeaseList{}
			return list, m.Client.List(ctx, list, options(o)...)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			return m.Client.Watch(ctx, &coordinationv1.LeaseList{}, options(o)...)
		},
	}
	first := make(chan struct{})
	store := &told[*coordinationv1.Lease]{shown: m.shown, removed: m.removed, replaced: func() {
		m.wake()
		select {
		case <-first:
		default:
			close(first)
		}
	}}
	go toolscache.NewReflectorWithOptions(source, &coordinationv1.Lease{}, store, toolscache.ReflectorOptions{}).RunWithContext(life)
	return first
}

// shown records a Lease that exists.
func (m *Member) shown(lease *coordinationv1.Lease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.wake()
	if lease.Name == m.tableKey().Name {
		m.assignment.learn(lease)
		return
	}
	if id, member := m.memberOf(lease); member && id != m.heartbeat.id {
		m.peers.heard(id, lease)
	}
}

// removed records that a Lease does not exist anymore.
func (m *Member) removed(lease *coordinationv1.Lease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.wake()
	if lease.Name == m.tableKey().Name {
		m.assignment.learn(nil)
		return
	}
	id, _ := m.memberOf(lease)
	m.peers.deleted(id)
}
