package apply

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// InvalidError says that what was composed is no child: nothing that happens in the cluster
// can mend it.
type InvalidError struct{ Message string }

func (e *InvalidError) Error() string { return e.Message }

// MissingKindError says that the cluster does not have the kind of a child. It may come.
type MissingKindError struct{ Kind schema.GroupVersionKind }

func (e *MissingKindError) Error() string {
	return fmt.Sprintf("the cluster has no kind %s in %s; is its CRD installed?", e.Kind.Kind, e.Kind.GroupVersion())
}
