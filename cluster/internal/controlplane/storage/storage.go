package storage

import (
	"context"
	"fmt"
	"path"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

const (
	// Registry is the prefix of all keys of the API server.
	Registry = "/registry/"
	// APIServices is the prefix of the keys of APIServices.
	APIServices = Registry + "apiregistration.k8s.io/apiservices/"
	// MaxTxnOps is the default maximum number of operations in one etcd transaction.
	MaxTxnOps = 128
)

// Empty reports whether the API server has never stored anything in etcd.
func Empty(ctx context.Context, etcd *clientv3.Client) (bool, error) {
	response, err := etcd.Get(ctx, Registry, clientv3.WithPrefix(), clientv3.WithLimit(1), clientv3.WithKeysOnly())
	if err != nil {
		return false, fmt.Errorf("read etcd: %w", err)
	}
	return len(response.Kvs) == 0, nil
}

// Put returns the operation that stores a built-in object as a new one, in the encoding of the API server.
func Put(resource schema.GroupVersionResource, object runtime.Object, now metav1.Time) (clientv3.Op, error) {
	if resource.Group == apiregistrationv1.GroupName {
		return put(resource, object, now, path.Join(resource.Group, resource.Resource), aggregatorscheme.Codecs.LegacyCodec(resource.GroupVersion()))
	}
	info, ok := runtime.SerializerInfoForMediaType(legacyscheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if !ok {
		return clientv3.Op{}, fmt.Errorf("the API server's scheme has no serializer for %s", runtime.ContentTypeProtobuf)
	}
	return put(resource, object, now, resource.Resource, legacyscheme.Codecs.EncoderForVersion(info.Serializer, resource.GroupVersion()))
}

func put(resource schema.GroupVersionResource, object runtime.Object, now metav1.Time, prefix string, encoder runtime.Encoder) (clientv3.Op, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return clientv3.Op{}, err
	}
	accessor.SetUID(uuid.NewUUID())
	accessor.SetCreationTimestamp(now)
	data, err := runtime.Encode(encoder, object)
	if err != nil {
		return clientv3.Op{}, fmt.Errorf("encode %s %s: %w", resource.Resource, accessor.GetName(), err)
	}
	key := Registry + path.Join(prefix, accessor.GetNamespace(), accessor.GetName())
	return clientv3.OpPut(key, string(data)), nil
}

// ReadAPIService decodes an APIService from its value in etcd.
func ReadAPIService(data []byte) (*apiregistrationv1.APIService, error) {
	service := &apiregistrationv1.APIService{}
	return service, runtime.DecodeInto(aggregatorscheme.Codecs.UniversalDecoder(), data, service)
}
