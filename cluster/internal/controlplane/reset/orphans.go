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

// orphansPlugin is the name of orphans among the admission plugins.
const orphansPlugin = "OwnerOutlivesReset"

// orphans refuses new objects whose owner a reset removed. A controller that has not heard
// of the reset yet would make them after it, however long one waits for the controllers to
// settle: a ReplicaSet's, whose pods' end it saw before the ReplicaSet's own, for one.
type orphans struct {
	*admission.Handler
	mu               sync.RWMutex
	removed, earlier sets.Set[types.UID] // by the last reset, and by the one before
}

func newOrphans() *orphans { return &orphans{Handler: admission.NewHandler(admission.Create)} }

// register has an API server ask it last. Who chooses the plugins by name leaves it on.
func (o *orphans) register(options *genericoptions.AdmissionOptions) {
	options.Plugins.Register(orphansPlugin, func(io.Reader) (admission.Interface, error) { return o, nil })
	options.RecommendedPluginOrder = append(slices.Clip(options.RecommendedPluginOrder), orphansPlugin)
}

// start begins a reset. What the last one removed is still remembered in this one.
func (o *orphans) start() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.removed, o.earlier = sets.New[types.UID](), o.removed
}

// remember notes the objects that a reset replaced by what the first state has under their
// keys. What their controllers made until then is there when the reset looks next.
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

// Validate refuses an object with an owner that is gone. The cause is that of a namespace
// which is being emptied: what tells Kubernetes's controllers to give up without an Event.
func (o *orphans) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	object, err := meta.Accessor(a.GetObject())
	if a.GetSubresource() != "" || err != nil {
		return nil // no object of its own
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

// protobufPrefix starts what the API server stores of its own kinds. Custom resources are
// stored as JSON.
var protobufPrefix = []byte("k8s\x00")

// storedUID returns the UID of what etcd holds under a key, or nothing where it holds no
// object, or one that is encrypted.
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
