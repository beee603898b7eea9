package operon

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

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

// suffix is how many characters of a hash end a name that was shortened.
const suffix = 8

// Name joins parts with hyphens to the name of a child, and shortens it where it is longer
// than limit: then its end is a hash of all parts, so that it stays the same for the same
// parts and differs for others. Most names may have 253 characters, but labels' values and
// the names of Services have 63, of StatefulSets and CronJobs 52, as names of others are
// made of them. A limit below 10 is taken as 10.
func Name(limit int, parts ...string) string {
	name := strings.Join(parts, "-")
	limit = max(limit, suffix+2)
	if len(name) <= limit {
		return name
	}
	// Parts are told apart in what is hashed: a-b and c are not a and b-c.
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	kept := strings.TrimRight(strings.ToValidUTF8(name[:limit-suffix-1], ""), "-.")
	return kept + "-" + hex.EncodeToString(sum[:])[:suffix]
}
