package controlplane

import (
	"context"
	"fmt"
	"path"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	priorityclasses "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

// registry is the prefix that the API server stores everything under.
const registry = "/registry/"

// maxTxnOps is how many operations etcd takes in one transaction by default.
const maxTxnOps = 128

// seed writes what an API server bootstraps, as it would store it: the RBAC policy, the
// system priority classes and the system namespaces. The policy is the API server's own;
// only the way in is shorter (see slowHooks).
func seed(ctx context.Context, client *clientv3.Client) error {
	entries, err := seedEntries(metav1.NewTime(time.Now().Truncate(time.Second)))
	if err != nil {
		return err
	}
	for start := 0; start < len(entries); start += maxTxnOps {
		ops := entries[start:min(start+maxTxnOps, len(entries))]
		if _, err := client.Txn(ctx).Then(ops...).Commit(); err != nil {
			return fmt.Errorf("seed etcd: %w", err)
		}
	}
	return nil
}

func seedEntries(now metav1.Time) ([]clientv3.Op, error) {
	var ops []clientv3.Op
	for _, object := range bootstrapObjects() {
		op, err := seedEntry(object, now)
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// bootstrapObject is an object and the resource that it is stored as.
type bootstrapObject struct {
	resource schema.GroupVersionResource
	object   runtime.Object
}

func bootstrapObjects() []bootstrapObject {
	var objects []bootstrapObject
	add := func(gv schema.GroupVersion, resource string, object runtime.Object) {
		objects = append(objects, bootstrapObject{gv.WithResource(resource), object})
	}
	for _, name := range []string{metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease, metav1.NamespaceDefault} {
		add(corev1.SchemeGroupVersion, "namespaces", namespace(name))
	}
	for _, class := range priorityclasses.SystemPriorityClasses() {
		add(schedulingv1.SchemeGroupVersion, "priorityclasses", class)
	}
	for _, role := range append(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles()...) {
		add(rbacv1.SchemeGroupVersion, "clusterroles", &role)
	}
	for _, binding := range append(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings()...) {
		add(rbacv1.SchemeGroupVersion, "clusterrolebindings", &binding)
	}
	for namespace, roles := range bootstrappolicy.NamespaceRoles() {
		for _, role := range roles {
			role.Namespace = namespace
			add(rbacv1.SchemeGroupVersion, "roles", &role)
		}
	}
	for namespace, bindings := range bootstrappolicy.NamespaceRoleBindings() {
		for _, binding := range bindings {
			binding.Namespace = namespace
			add(rbacv1.SchemeGroupVersion, "rolebindings", &binding)
		}
	}
	return objects
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}},
		Spec:       corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}},
		Status:     corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
	}
}

func seedEntry(o bootstrapObject, now metav1.Time) (clientv3.Op, error) {
	info, ok := runtime.SerializerInfoForMediaType(legacyscheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if !ok {
		return clientv3.Op{}, fmt.Errorf("the API server's scheme has no %s", runtime.ContentTypeProtobuf)
	}
	return storedEntry(o, now, o.resource.Resource, legacyscheme.Codecs.EncoderForVersion(info.Serializer, o.resource.GroupVersion()))
}

// storedEntry stores an object as a new one under a prefix.
func storedEntry(o bootstrapObject, now metav1.Time, prefix string, encoder runtime.Encoder) (clientv3.Op, error) {
	accessor, err := meta.Accessor(o.object)
	if err != nil {
		return clientv3.Op{}, err
	}
	accessor.SetUID(uuid.NewUUID())
	accessor.SetCreationTimestamp(now)
	data, err := runtime.Encode(encoder, o.object)
	if err != nil {
		return clientv3.Op{}, fmt.Errorf("encode %s %s: %w", o.resource.Resource, accessor.GetName(), err)
	}
	key := registry + path.Join(prefix, accessor.GetNamespace(), accessor.GetName())
	return clientv3.OpPut(key, string(data)), nil
}
