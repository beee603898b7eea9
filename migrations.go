package operon

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/migrate"
)

// migrate adds the storage migration of a kind to the manager, where it is wanted. A dry run has none.
func (o *operator) migrate(kind schema.GroupVersionKind, wanted bool) error {
	if !wanted || o.dryRun != nil {
		return nil
	}
	m := migrate.New(&migrate.Cluster{
		Client: o.direct, Kind: kind, Manager: o.name, Marks: types.NamespacedName{Namespace: o.home, Name: o.name + "-migrations"},
	})
	m.Log = o.log
	return o.manager.Add(m)
}
