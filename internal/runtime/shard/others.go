package shard

import (
	"context"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/shardtable"
)

// TableAnnotation on the table's Lease says who holds each slot.
const TableAnnotation = "operon.dev/shards"

func (m *Member) tableKey() client.ObjectKey {
	return client.ObjectKey{Namespace: m.Namespace, Name: m.Operator + "-shards"}
}

// watch follows the Leases of all members and the table. What it returns is closed when all have
// been read once. All are of one watch, so that whoever stands in the table was seen before.
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

// shown takes note of a Lease that is there.
func (m *Member) shown(lease *coordinationv1.Lease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.wake()
	if lease.Name == m.tableKey().Name {
		m.learn(lease)
		return
	}
	id, member := m.memberOf(lease)
	if !member || id == m.id {
		return
	}
	s := m.seen[id]
	if s == nil || s.lease == nil || s.lease.ResourceVersion != lease.ResourceVersion {
		m.seen[id] = &sight{lease: lease, at: m.Clock.Now()}
	}
}

// leaseOf names the Lease of a member.
func (m *Member) leaseOf(id string) string { return m.Operator + "-member-" + id }

// memberOf is whose Lease one is, by its name: anything else in it may be edited.
func (m *Member) memberOf(lease *coordinationv1.Lease) (id string, ok bool) {
	return strings.CutPrefix(lease.Name, m.leaseOf(""))
}

// removed takes note of a Lease that is there no more.
func (m *Member) removed(lease *coordinationv1.Lease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.wake()
	if lease.Name == m.tableKey().Name {
		m.learn(nil)
		return
	}
	id, _ := m.memberOf(lease)
	if s := m.seen[id]; s != nil {
		s.gone = true
	}
}

// learn takes up a table, or that there is none: one that cannot be read is none. What it gives to others is theirs
// at once. The lock is held.
func (m *Member) learn(lease *coordinationv1.Lease) {
	if lease == nil {
		m.lose(nil)
		return
	}
	parsed, err := shardtable.Parse(lease.Annotations[TableAnnotation])
	if err != nil {
		m.Log.Error(err, "cannot read which replica works on what: it is made anew when all have stopped who worked by it",
			"lease", lease.Name, "annotation", TableAnnotation, "within", m.timing.lease)
		m.lose(lease)
		return
	}
	resized := m.parsed != nil && m.parsed.Slots() != parsed.Slots()
	if m.lease == nil || m.lease.ResourceVersion != lease.ResourceVersion {
		clear(m.given)
	}
	m.lease, m.parsed = lease, &parsed
	m.revoke(func(slot int) bool { return resized || parsed.Holders[slot] != m.id })
	for _, holder := range parsed.Holders {
		if holder != "" && holder != m.id && m.seen[holder] == nil {
			m.seen[holder] = &sight{at: m.Clock.Now(), gone: true}
		}
	}
}

// lose takes note that there is no table that can be read. The lock is held.
func (m *Member) lose(lease *coordinationv1.Lease) {
	if m.parsed != nil {
		m.shared = slices.ContainsFunc(m.parsed.Holders, func(holder string) bool { return holder != "" && holder != m.id })
	}
	m.lease, m.parsed, m.bare = lease, nil, m.Clock.Now()
	clear(m.given)
	m.revoke(func(int) bool { return true })
}
