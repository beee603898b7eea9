package proxy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/engine"
)

// state is the content of an object or a list at one time. The zero value is an object that does not exist.
type state struct {
	// withStatus and withoutStatus are versions of the content.
	withStatus, withoutStatus string
	// owned means that the object has the owner of the session.
	owned bool
}

func (s state) version(withStatus bool) string {
	if withStatus {
		return s.withStatus
	}
	return s.withoutStatus
}

// stateOf returns the state of an object, or of one that does not exist.
func (o Owner) stateOf(object *metav1.PartialObjectMetadata) state {
	if object == nil {
		return state{}
	}
	return state{withStatus: Version(object, true), withoutStatus: Version(object, false), owned: o.owns(object)}
}

func stateOfList(items []metav1.PartialObjectMetadata) state {
	return state{withStatus: ListVersion(items, true), withoutStatus: ListVersion(items, false)}
}

// tornVersion is the version of an object or list that changed between two tasks that read it. It differs from all others, so
// that the run is repeated.
const tornVersion = "changed during the run"

// controllerAnnotations are annotations that controllers of Kubernetes write, as they write the status.
const controllerAnnotations = "deployment.kubernetes.io/"

// Version identifies the content of an object. Without the status, it changes only with the rest, as far as the metadata
// shows: kinds without a generation have no status, with few exceptions. An object that is being deleted counts as absent.
func Version(object *metav1.PartialObjectMetadata, withStatus bool) string {
	switch {
	case object == nil || object.DeletionTimestamp != nil:
		return ""
	case withStatus || object.Generation == 0:
		return string(object.UID) + "/" + object.ResourceVersion
	}
	annotations := map[string]string{}
	for key, value := range object.Annotations {
		if !strings.HasPrefix(key, controllerAnnotations) {
			annotations[key] = value
		}
	}
	content, err := json.Marshal([]any{object.Labels, annotations, object.OwnerReferences, object.Finalizers})
	if err != nil {
		panic(err) // strings can be encoded
	}
	sum := sha256.Sum256(content)
	return fmt.Sprintf("%s/%d/%s", object.UID, object.Generation, hex.EncodeToString(sum[:6]))
}

// ListVersion identifies the content of a list, with or without the status of its items.
func ListVersion(items []metav1.PartialObjectMetadata, withStatus bool) string {
	var lines []string
	for i := range items {
		lines = append(lines, items[i].Namespace+"/"+items[i].Name+"/"+Version(&items[i], withStatus))
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return fmt.Sprintf("%d/%s", len(items), hex.EncodeToString(sum[:12]))
}

// Live reads the current version of an object or list from the API server.
func (p *Proxy) Live(ctx context.Context, o engine.RunObject) (string, error) {
	now, err := p.live(ctx, Owner{}, objectKey{schema.FromAPIVersionAndKind(o.APIVersion, o.Kind), o.Namespace, o.Name, o.Selector})
	return now.version(o.WithStatus), err
}

// live reads the current state of an object or list from the API server. An object of a kind that is not served does not exist.
func (p *Proxy) live(ctx context.Context, owner Owner, key objectKey) (state, error) {
	path, err := p.path(key.kind, key.namespace, key.name)
	if meta.IsNoMatchError(err) {
		return state{}, nil
	}
	if err != nil {
		return state{}, err
	}
	if key.name == "" {
		query := url.Values{}
		if key.selector != "" {
			query.Set("labelSelector", key.selector)
		}
		list := &metav1.PartialObjectMetadataList{}
		err := p.read(ctx, path, query, "PartialObjectMetadataList", list)
		return stateOfList(list.Items), err
	}
	object, err := p.metadata(ctx, path, nil)
	if apierrors.IsNotFound(err) {
		return state{}, nil
	}
	return owner.stateOf(object), err
}

// Exists reports whether an object exists, or cannot be read. An object that is being deleted counts as absent.
func (p *Proxy) Exists(ctx context.Context, o Owner) bool {
	now, err := p.live(ctx, o, o.key())
	return err != nil || strings.HasPrefix(now.withoutStatus, string(o.UID)+"/")
}

// Terminating reports whether an object is still being deleted, or may not be read.
func (p *Proxy) Terminating(ctx context.Context, o Owner) bool {
	object, err := p.owner(ctx, o)
	return apierrors.IsForbidden(err) || object != nil && object.GetDeletionTimestamp() != nil
}

// owner reads an object. It is nil if it does not exist, or another one has its name.
func (p *Proxy) owner(ctx context.Context, o Owner) (*unstructured.Unstructured, error) {
	apiVersion, kind := o.Kind.ToAPIVersionAndKind()
	object, err := p.Object(ctx, engine.RunObject{APIVersion: apiVersion, Kind: kind, Namespace: o.Namespace, Name: o.Name})
	if err != nil || object == nil || object.GetUID() != o.UID {
		return nil, err
	}
	return object, nil
}

// Object reads an object. It is nil if it does not exist.
func (p *Proxy) Object(ctx context.Context, o engine.RunObject) (*unstructured.Unstructured, error) {
	path, err := p.path(schema.FromAPIVersionAndKind(o.APIVersion, o.Kind), o.Namespace, o.Name)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	err = p.read(ctx, path, nil, "", object)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return object, err
}
