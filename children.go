package operon

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

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

// ReadyWhen makes a function decide whether the child is ready, and if not, why. Without it,
// kstatus decides: it knows the built-in kinds, and reads the Ready condition of others. Of
// several functions, all have to agree. live must not be changed. T is the child's type, or
// *unstructured.Unstructured.
func ReadyWhen[T client.Object](ready func(live T) (ready bool, why string)) ChildOption {
	if untyped, ok := any(ready).(func(*unstructured.Unstructured) (bool, string)); ok {
		return author.ReadyWhen(untyped)
	}
	return author.ReadyWhen(func(live *unstructured.Unstructured) (bool, string) {
		typed, err := newObject[T]()
		if err == nil {
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, typed)
		}
		if err != nil {
			return false, fmt.Sprintf("it cannot be read as %s: %v", reflect.TypeFor[T](), err)
		}
		return ready(typed)
	})
}

// FromYAML reads the objects of a file, one or several YAML documents, for Child. Empty documents are skipped.
func FromYAML(documents []byte) ([]client.Object, error) {
	var objects []client.Object
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(documents), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", len(objects)+1, err)
		}
		if len(object.Object) == 0 {
			continue
		}
		if object.GetKind() == "" || object.GetAPIVersion() == "" {
			return nil, fmt.Errorf("document %d has no apiVersion or no kind", len(objects)+1)
		}
		objects = append(objects, object)
	}
}

// FromApplyConfiguration makes an object of an apply configuration of client-go, for Child: it has the fields that were
// set and no others.
func FromApplyConfiguration(configuration runtime.ApplyConfiguration) (client.Object, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(configuration)
	if err != nil {
		return nil, fmt.Errorf("convert %T: %w", configuration, err)
	}
	return &unstructured.Unstructured{Object: content}, nil
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
