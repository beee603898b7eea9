package operon

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/runtime/migrate"
)

// migrate adds the storage migration of a kind to the manager, where it is wanted. A dry run has none.
func (o *operator) migrate(of reflect.Type, kind schema.GroupVersionKind, wanted bool) error {
	if !wanted || o.dryRun != nil {
		return nil
	}
	converts, err := converts(o.manager.GetScheme(), of, kind)
	if err != nil {
		return err
	}
	m := migrate.New(&migrate.Cluster{
		Client: o.direct, Kind: kind, Manager: o.name, Marks: types.NamespacedName{Namespace: o.home, Name: o.name + "-migrations"},
	})
	m.Log, m.Converts = o.log, converts
	return o.manager.Add(m)
}
