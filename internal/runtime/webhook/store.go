package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// store stores the data that all replicas share.
type store interface {
	// load returns the stored data and its version, both empty if there is none.
	load(ctx context.Context) (data map[string][]byte, version string, err error)
	// save stores data if the stored version is still the given one. Otherwise it returns a conflict.
	save(ctx context.Context, data map[string][]byte, version string) error
}

// memory stores data for one process, which API servers reach on its own machine.
type memory struct{ data map[string][]byte }

func (m *memory) load(context.Context) (map[string][]byte, string, error) {
	return maps.Clone(m.data), "", nil
}

func (m *memory) save(_ context.Context, data map[string][]byte, _ string) error {
	m.data = data
	return nil
}

var secretKind = corev1.SchemeGroupVersion.WithKind("Secret")

// neverRevision is a resource version that no object has. An apply with it succeeds only if the object does not exist.
const neverRevision = "1"

// secret stores the certificates in a Secret.
//
// Each write names the resource version that it replaces. If two replicas write at once, one of them gets a conflict. The Secret is
// created by server-side apply because RBAC cannot permit a POST for a single name.
type secret struct {
	wire     *resourceclient.Wire
	key      types.NamespacedName
	operator string // the field manager, and the value of the label
}

func newSecret(w *resourceclient.Wire, key types.NamespacedName, operator string) *secret {
	return &secret{wire: w, key: key, operator: operator}
}

func (s *secret) load(ctx context.Context) (map[string][]byte, string, error) {
	endpoint, err := s.wire.Endpoint(secretKind, resourceclient.Loose)
	if err != nil {
		return nil, "", err
	}
	live, err := endpoint.Get(ctx, s.key.Namespace, s.key.Name)
	if apierrors.IsNotFound(err) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("read the certificates: %w", err)
	}
	var typed corev1.Secret
	if err := typedFrom(live, &typed); err != nil {
		return nil, "", fmt.Errorf("read the certificates: %w", err)
	}
	return typed.Data, typed.ResourceVersion, nil
}

func (s *secret) save(ctx context.Context, data map[string][]byte, version string) error {
	endpoint, err := s.wire.Endpoint(secretKind, resourceclient.Loose)
	if err != nil {
		return err
	}
	body, err := json.Marshal(&corev1.Secret{
		TypeMeta: typeMeta(secretKind),
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.key.Namespace, Name: s.key.Name, ResourceVersion: cmp.Or(version, neverRevision),
			Labels: map[string]string{labelManagedBy: s.operator},
		},
		Data: data,
	})
	if err != nil {
		return err
	}
	force := true // over managers of earlier versions: the resource version protects the writes of others
	if _, err = endpoint.Apply(ctx, s.key.Namespace, s.key.Name, body, metav1.PatchOptions{FieldManager: s.operator, Force: &force}); err != nil {
		return fmt.Errorf("write the certificates: %w", err)
	}
	return nil
}

func typeMeta(kind schema.GroupVersionKind) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind}
}

// typedFrom converts the result of an endpoint of form Loose into a Go type.
func typedFrom(live runtime.Object, into any) error {
	loose, ok := live.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("got a %T", live)
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(loose.Object, into)
}
