package controlplane

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/operon-framework/operon/cluster/internal/controlplane/storage"
	"github.com/operon-framework/operon/cluster/internal/metrics"
)

// announceMetrics writes to etcd the objects that the manifest of metrics-server contains in addition to the server: an
// APIService, which the API server itself serves here, and a ClusterRole that allows users with view permissions in a namespace
// to see the usage of its pods. Existing objects are not changed: a user may have created them.
func announceMetrics(ctx context.Context, client *clientv3.Client) error {
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	role, err := storage.Put(rbacv1.SchemeGroupVersion.WithResource("clusterroles"), metricsReader(), now)
	if err != nil {
		return err
	}
	service, err := storage.Put(apiregistrationv1.SchemeGroupVersion.WithResource("apiservices"), metricsService(), now)
	if err != nil {
		return err
	}
	for _, op := range []clientv3.Op{role, service} {
		key := string(op.KeyBytes())
		if _, err := client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).Then(op).Commit(); err != nil {
			return fmt.Errorf("announce %s: %w", metrics.GroupVersion, err)
		}
	}
	return nil
}

func metricsService() *apiregistrationv1.APIService {
	version := metrics.GroupVersion
	return &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: version.Version + "." + version.Group},
		// The priorities are the same as metrics-server's: for clients, pods and nodes are in the core group first.
		Spec: apiregistrationv1.APIServiceSpec{
			Group: version.Group, Version: version.Version, GroupPriorityMinimum: 100, VersionPriority: 100,
		},
	}
}

func metricsReader() *rbacv1.ClusterRole {
	const aggregate = rbacv1.GroupName + "/aggregate-to-"
	return &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "system:aggregated-metrics-reader", Labels: map[string]string{
			aggregate + "view": "true", aggregate + "edit": "true", aggregate + "admin": "true",
		}},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{metrics.GroupVersion.Group}, Resources: []string{"pods", "nodes"}, Verbs: []string{"get", "list"},
		}},
	}
}
