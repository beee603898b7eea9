package deploy

import (
	"context"

	"k8s.io/client-go/kubernetes"

	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/up"
)

// manager is the field manager of all deployed objects.
const manager = "operon-deploy"

// cluster is the cluster to deploy to.
type cluster struct {
	*up.Cluster
	*kube.Client
	typed kubernetes.Interface
}

func connect(ctx context.Context, where up.Where) (*cluster, error) {
	found, err := up.Find(ctx, where)
	if err != nil {
		return nil, err
	}
	client, err := kube.New(found.Config, manager)
	if err != nil {
		return nil, err
	}
	typed, err := kubernetes.NewForConfig(kube.Unlimited(found.Config))
	return &cluster{found, client, typed}, err
}
