package fast

import (
	"context"
	"fmt"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	priorityclasses "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
	"github.com/operon-framework/operon/cluster/internal/controlplane/storage"
)

// slowHooks write the bootstrap objects one by one, and each waits a second before its first attempt. seed writes the same
// objects directly to an empty etcd instead. If the state is from an earlier start, the hooks run: the policy may have a newer
// version.
var slowHooks = sets.New(
	"rbac/bootstrap-roles",
	"scheduling/bootstrap-system-priority-classes",
)

func seedBootstrap(s *start) {
	s.extend(controlplane.Extension{
		Stored: func(ctx context.Context, etcd *clientv3.Client, fresh bool) error {
			if !fresh {
				return nil
			}
			return seed(ctx, etcd)
		},
		APIServer: func(config *app.Config) {
			if !s.cfg.Durable() {
				config.KubeAPIs.ControlPlane.Generic.DisabledPostStartHooks.Insert(sets.List(slowHooks)...)
			}
		},
	})
}

// seed writes the bootstrap objects of an API server in the format in which it stores them: the RBAC policy, the system
// priority classes and the system namespaces. The policy is the API server's own. It is only written in a shorter way (see
// slowHooks).
func seed(ctx context.Context, client *clientv3.Client) error {
	entries, err := seedEntries(metav1.NewTime(time.Now().Truncate(time.Second)))
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(entries, storage.MaxTxnOps) {
		if _, err := client.Txn(ctx).Then(chunk...).Commit(); err != nil {
			return fmt.Errorf("seed etcd: %w", err)
		}
	}
	return nil
}

func seedEntries(now metav1.Time) ([]clientv3.Op, error) {
	var ops []clientv3.Op
	for _, object := range bootstrapObjects() {
		op, err := storage.Put(object.resource, object.object, now)
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// bootstrapObject is an object and the resource under which it is stored.
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
		class.Generation = 1 // like the API server
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
