package fast

import (
	"go.etcd.io/etcd/server/v3/embed"
	"google.golang.org/grpc"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
)

// A single member elects itself. With these ticks, the election takes about 50 ms. With the defaults (100 ms, 1 s), it takes up
// to a second.
const (
	etcdTickMs     = 10
	etcdElectionMs = 50
)

func quickElection(s *start) {
	s.extend(controlplane.Extension{Etcd: func(config *embed.Config) {
		config.TickMs, config.ElectionMs = etcdTickMs, etcdElectionMs
	}})
}

// connectionBuffer replaces the 32 KiB that gRPC uses in each direction, in bytes.
const connectionBuffer = 4 << 10

// smallBuffers saves memory: the API server has one connection to etcd for each kind, and most of them are idle.
func smallBuffers(s *start) {
	s.extend(controlplane.Extension{Etcd: func(config *embed.Config) {
		config.GRPCAdditionalServerOptions = []grpc.ServerOption{
			grpc.ReadBufferSize(connectionBuffer), grpc.WriteBufferSize(connectionBuffer), grpc.SharedWriteBuffer(true),
		}
	}})
}

// quickenControllers makes controllers work as fast as the cluster can, without the rate limits that protect a large cluster.
func quickenControllers(s *start) {
	s.extend(controlplane.Extension{
		ControllerManager: controlplane.Settings{
			"kube-api-qps":                          "2000",
			"kube-api-burst":                        "4000",
			"pvclaimbinder-sync-period":             "1s",
			"node-monitor-period":                   "1s",
			"horizontal-pod-autoscaler-sync-period": "5s",
		},
		Scheduler: controlplane.Settings{"kube-api-qps": "2000", "kube-api-burst": "4000"},
	})
}
