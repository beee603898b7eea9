package fast

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/kubeapiserver"

	"github.com/operon-framework/operon/cluster/internal/controlplane/storage"
)

// content describes the objects that are stored in a namespace. There are about a hundred kinds, and each namespace uses few of
// them. Querying the API server for each kind, twice, makes deletions of namespaces wait for each other if there are many at
// once.
type content struct {
	// prefixes are the parts of keys between the prefix of the registry and the namespace.
	prefixes sets.Set[string]
	// foreign are the groups that other servers serve. It is unknown where they store their objects.
	foreign sets.Set[string]
}

// readContent returns the content of a namespace, or nil if it is unknown.
func readContent(ctx context.Context, etcd *clientv3.Client, namespace string) (*content, error) {
	response, err := etcd.Txn(ctx).Then(
		clientv3.OpGet(storage.Registry, clientv3.WithPrefix(), clientv3.WithKeysOnly()),
		clientv3.OpGet(storage.APIServices, clientv3.WithPrefix()),
	).Commit()
	if err != nil {
		return nil, fmt.Errorf("read etcd: %w", err)
	}
	keys, services := response.Responses[0].GetResponseRange().Kvs, response.Responses[1].GetResponseRange().Kvs
	prefixes, known := prefixesIn(keys, namespace)
	if !known {
		return nil, nil
	}
	foreign, err := foreignGroups(services)
	return &content{prefixes, foreign}, err
}

// prefixesIn returns the key prefixes of the objects in a namespace. They are known if the key of the namespace itself exists.
func prefixesIn(keys []*mvccpb.KeyValue, namespace string) (prefixes sets.Set[string], known bool) {
	prefixes = sets.New[string]()
	for _, entry := range keys {
		key := strings.TrimPrefix(string(entry.Key), storage.Registry)
		known = known || key == "namespaces/"+namespace
		parent := key[:max(strings.LastIndexByte(key, '/'), 0)]
		if prefix, is := strings.CutSuffix(parent, "/"+namespace); is {
			prefixes.Insert(prefix)
		}
	}
	return prefixes, known
}

func foreignGroups(services []*mvccpb.KeyValue) (sets.Set[string], error) {
	groups := sets.New[string]()
	for _, entry := range services {
		service, err := storage.ReadAPIService(entry.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", entry.Key, err)
		}
		if service.Spec.Service != nil {
			groups.Insert(service.Spec.Group)
		}
	}
	return groups, nil
}

// lacks reports whether it is certain that no object of a kind exists.
func (c *content) lacks(kind schema.GroupResource) bool {
	if c == nil || c.foreign.Has(kind.Group) || c.prefixes.Has(kind.Group+"/"+kind.Resource) {
		return false
	}
	if !legacyscheme.Scheme.IsGroupRegistered(kind.Group) {
		return true // custom resources are stored under their group
	}
	prefix, special := kubeapiserver.SpecialDefaultResourcePrefixes[kind]
	if !special {
		prefix = kind.Resource
	}
	return !c.prefixes.Has(prefix)
}

type contentKey struct{}

func withContent(ctx context.Context, c *content) context.Context {
	return context.WithValue(ctx, contentKey{}, c)
}

func contentOf(ctx context.Context) *content {
	c, _ := ctx.Value(contentKey{}).(*content)
	return c
}

// present is a client that answers requests locally for kinds of which a namespace has no objects.
type present struct{ metadata.Interface }

func (p present) Resource(kind schema.GroupVersionResource) metadata.Getter {
	return presentOf{p.Interface.Resource(kind), kind.GroupResource()}
}

type presentOf struct {
	metadata.Getter
	kind schema.GroupResource
}

func (p presentOf) Namespace(namespace string) metadata.ResourceInterface {
	return presentIn{p.Getter.Namespace(namespace), p.kind}
}

type presentIn struct {
	metadata.ResourceInterface
	kind schema.GroupResource
}

func (p presentIn) DeleteCollection(ctx context.Context, options metav1.DeleteOptions, list metav1.ListOptions) error {
	if contentOf(ctx).lacks(p.kind) {
		return nil
	}
	return p.ResourceInterface.DeleteCollection(ctx, options, list)
}

func (p presentIn) List(ctx context.Context, options metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	if contentOf(ctx).lacks(p.kind) {
		return &metav1.PartialObjectMetadataList{}, nil
	}
	return p.ResourceInterface.List(ctx, options)
}

// errLeft reports objects that were not queried: they were created late, or their kind is stored under an unexpected prefix.
var errLeft = errors.New("objects are left in the namespace")

// finalizer finalizes namespaces that have no stored objects any more.
type finalizer struct {
	corev1client.NamespaceInterface
	etcd *clientv3.Client
}

func (f finalizer) Finalize(ctx context.Context, namespace *corev1.Namespace, options metav1.UpdateOptions) (*corev1.Namespace, error) {
	if contentOf(ctx) == nil {
		return f.NamespaceInterface.Finalize(ctx, namespace, options)
	}
	left, err := readContent(ctx, f.etcd, namespace.Name)
	if err != nil {
		return nil, err
	}
	if left != nil && len(left.prefixes) > 0 {
		return nil, errLeft
	}
	return f.NamespaceInterface.Finalize(ctx, namespace, options)
}
