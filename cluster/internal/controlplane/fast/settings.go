package fast

import (
	"go.etcd.io/etcd/server/v3/embed"
	"google.golang.org/grpc"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
)

// A single member elects itself. With these ticks it does so in about 50 ms, where the
// defaults (100 ms, 1 s) take up to a second.
const (
	etcdTickMs     = 10
	etcdElectionMs = 50
)

func quickElection(s *start) {
	s.extend(controlplane.Extension{Etcd: func(config *embed.Config) {
		config.TickMs, config.ElectionMs = etcdTickMs, etcdElectionMs
	}})
}

// connectionBuffer replaces the 32 KiB that gRPC takes in each direction, in bytes.
const connectionBuffer = 4 << 10

// smallBuffers saves memory: the API server has a connection to etcd for each kind, most of which are silent.
func smallBuffers(s *start) {
	s.extend(controlplane.Extension{Etcd: func(config *embed.Config) {
		config.GRPCAdditionalServerOptions = []grpc.ServerOption{
			grpc.ReadBufferSize(connectionBuffer), grpc.WriteBufferSize(connectionBuffer), grpc.SharedWriteBuffer(true),
		}
	}})
}

// quickenControllers has controllers work as soon as the cluster can, not at the pace that spares a large one.
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
