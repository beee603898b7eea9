package operon

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/author"
)

// ChildOption says more of a child than its fields do: see After, ReadyWhen, Replace,
// Adopt and Orphan, and package cel for readiness as an expression.
type ChildOption = author.ChildOption

// After lets a child be created and changed only when the others, which are declared too,
// are ready. It is deleted before them, also when nobody declares any of them any more.
// Children that wait for each other stall the object, and the cycle is named.
func After(others ...client.Object) ChildOption { return author.After(others...) }

// ReadyWhen lets a function tell whether the child is ready, and if not, why. Without it,
// kstatus does: it knows the built-in kinds, and reads the Ready condition of others. Of
// several functions, all have to agree. live must not be changed.
func ReadyWhen(ready func(live *unstructured.Unstructured) (ready bool, why string)) ChildOption {
	return author.ReadyWhen(ready)
}

// Replace lets the child be deleted and made again where a field is to change that cannot be
// changed. Without it, the object stalls with the reason ImmutableField.
func Replace() ChildOption { return author.Allow(plan.MayReplace) }

// Adopt lets an object that has the child's name, and that nobody controls, be taken over.
// Without it, that is a conflict. From then on it is a child like others.
func Adopt() ChildOption { return author.Allow(plan.MayAdopt) }

// Orphan leaves the child behind, without the labels and annotations that made it one, when
// it is no longer declared or when its owner is deleted.
func Orphan() ChildOption { return author.Allow(plan.LeaveBehind) }
