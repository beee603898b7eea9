package freshness

import (
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// Children is the ledger of an operator's writes to children.
type Children = Ledger[plan.ID, *plan.Live]

// ChildWatch is a watch of children.
type ChildWatch = Watch[plan.ID, *plan.Live]

// ChildView is a view of the writes to children.
type ChildView = View[plan.ID, *plan.Live]

// NewChildren returns a ledger without writes.
func NewChildren() *Children {
	return New[plan.ID](Config[*plan.Live]{Form: FormOfChild, Deleting: going})
}

// FormOfChild is the form of a child.
func FormOfChild(live *plan.Live) Form {
	return Form{UID: live.UID, Version: resourceclient.Revision(live.ResourceVersion), Deleting: live.Deleting}
}

// going returns a child as the cache will show it after its deletion was requested.
func going(live *plan.Live) *plan.Live {
	if live.Deleting {
		return live
	}
	deleting := *live
	deleting.Deleting = true
	return &deleting
}

// WatchChildren adds the watch of the children for which covers returns true. store contains these children. lost is called
// with a child that was deleted before the watch showed the write.
func WatchChildren(children *Children, store toolscache.Store, covers func(*plan.Live) bool, lost func(*plan.Live)) *ChildWatch {
	cache := Cache[plan.ID]{
		Version: func() uint64 { return resourceclient.Revision(store.LastStoreSyncResourceVersion()) },
		Form: func(id plan.ID) Form {
			found, _, _ := store.GetByKey(toolscache.NewObjectName(id.Namespace, id.Name).String()) // a store in memory has no errors
			if live, ok := found.(*plan.Live); ok {
				return FormOfChild(live)
			}
			return Form{}
		},
	}
	return children.Watch(func(_ plan.ID, live *plan.Live) bool { return covers(live) }, cache, lost)
}
