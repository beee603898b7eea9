package reset

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"

	"go.etcd.io/etcd/api/v3/mvccpb"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	genericoptions "k8s.io/apiserver/pkg/server/options"
)

// orphansPlugin is the name of orphans as an admission plugin.
const orphansPlugin = "OwnerOutlivesReset"

// orphans rejects new objects whose owner a reset removed. A controller that has not received the watch events of the reset yet
// would create them after it, even if the reset waits until the controllers settle. An example is a ReplicaSet whose pods'
// deletion the controller sees before the deletion of the ReplicaSet itself.
type orphans struct {
	*admission.Handler
	mu               sync.RWMutex
	removed, earlier sets.Set[types.UID] // by the last reset, and by the previous one
}

func newOrphans() *orphans { return &orphans{Handler: admission.NewHandler(admission.Create)} }

// register makes the API server call orphans as the last plugin. It stays enabled if a user selects plugins by name.
func (o *orphans) register(options *genericoptions.AdmissionOptions) {
	options.Plugins.Register(orphansPlugin, func(io.Reader) (admission.Interface, error) { return o, nil })
	options.RecommendedPluginOrder = append(slices.Clip(options.RecommendedPluginOrder), orphansPlugin)
}

// start begins a reset. Objects that the previous reset removed are still remembered during this one.
func (o *orphans) start() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.removed, o.earlier = sets.New[types.UID](), o.removed
}

// remember records the objects that a reset replaced by the values of the first state. Objects that their controllers created
// before this call exist when the reset reads etcd the next time.
func (o *orphans) remember(replaced []*mvccpb.KeyValue, first snapshot) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, entry := range replaced {
		if uid := storedUID(entry.Value); uid != "" && uid != storedUID(first[string(entry.Key)]) {
			o.removed.Insert(uid)
		}
	}
}

func (o *orphans) gone(uid types.UID) bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.removed.Has(uid) || o.earlier.Has(uid)
}

// Validate rejects an object whose owner was removed. The error has the same cause as in a namespace that is being deleted:
// with it, the controllers of Kubernetes give up without an Event.
func (o *orphans) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	object, err := meta.Accessor(a.GetObject())
	if a.GetSubresource() != "" || err != nil {
		return nil // not an object itself
	}
	for _, owner := range object.GetOwnerReferences() {
		if !o.gone(owner.UID) {
			continue
		}
		refusal := apierrors.NewForbidden(a.GetResource().GroupResource(), a.GetName(), fmt.Errorf("a reset of the cluster removed its owner, %s %s", owner.Kind, owner.Name))
		refusal.ErrStatus.Details.Causes = append(refusal.ErrStatus.Details.Causes, metav1.StatusCause{Type: corev1.NamespaceTerminatingCause, Message: refusal.ErrStatus.Message})
		return refusal
	}
	return nil
}

// protobufPrefix is the prefix of the values that the API server stores for built-in kinds. Custom resources are stored as
// JSON.
var protobufPrefix = []byte("k8s\x00")

// storedUID returns the UID of the object in an etcd value. It returns the empty string if the value is not an object or is
// encrypted.
func storedUID(value []byte) types.UID {
	var object metav1.PartialObjectMetadata
	encoded, is := bytes.CutPrefix(value, protobufPrefix)
	if !is {
		if json.Unmarshal(value, &object) != nil {
			return ""
		}
		return object.UID
	}
	var envelope runtime.Unknown
	if envelope.Unmarshal(encoded) != nil || object.Unmarshal(envelope.Raw) != nil {
		return ""
	}
	return object.UID
}
