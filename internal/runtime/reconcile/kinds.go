package reconcile

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// kinds is what a reconciler knows of the kinds of children. It is safe for concurrent use.
type kinds struct {
	// whole are the kinds of which more is read than plans need.
	whole sync.Map
	// unreadable are the kinds that an earlier version composed and this one may not read.
	unreadable sync.Map
}

// children returns how children of a kind are kept.
func (k *kinds) children(kind schema.GroupVersionKind) resourceclient.Children {
	_, whole := k.whole.Load(kind)
	return resourceclient.Children{Kind: kind, Whole: whole}
}

// readWhole makes whole objects of a kind be read from now on.
func (k *kinds) readWhole(kind schema.GroupVersionKind) { k.whole.Store(kind, true) }
