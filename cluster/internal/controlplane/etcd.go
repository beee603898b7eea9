package controlplane

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
)

// store is the etcd of one cluster. It listens only on a unix socket in the cluster's own directory: file permissions protect
// it, and ports cannot conflict. The process itself accesses it without a connection.
type store struct {
	server *embed.Etcd
	client *clientv3.Client
	socket string
}

// maxSocketPath is the maximum length of the path of a unix socket. It is below the limits of Linux (108 bytes) and macOS
// (104).
const maxSocketPath = 100

func startStore(ctx context.Context, cfg *Config, added extensions) (*store, error) {
	socket := filepath.Join(cfg.Dir, "etcd.sock")
	if len(socket) > maxSocketPath {
		return nil, fmt.Errorf("the path of etcd's socket is too long (%d bytes, at most %d): %s; set OPERON_HOME to a shorter path", len(socket), maxSocketPath, socket)
	}
	if err := os.RemoveAll(socket); err != nil {
		return nil, err
	}
	config := etcdConfig(cfg, socket)
	added.etcd(config)
	server, err := embed.StartEtcd(config)
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	s := &store{server: server, client: v3client.New(server.Server), socket: socket}
	select {
	case <-server.Server.ReadyNotify():
		return s, nil
	case err := <-server.Err():
		s.close()
		return nil, fmt.Errorf("etcd: %w", err)
	case <-ctx.Done():
		s.close()
		return nil, ctx.Err()
	}
}

func etcdConfig(cfg *Config, socket string) *embed.Config {
	config := embed.NewConfig()
	config.Name = "operon"
	config.Dir = cfg.etcdDir()
	config.UnsafeNoFsync = !cfg.Durable()
	config.LogLevel = "error"
	config.LogOutputs = []string{"stderr"}
	config.ListenClientUrls = []url.URL{{Scheme: "unix", Path: socket}}
	// A single member connects to no peer. Etcd still requires advertised addresses with a host and a port. Nothing listens there.
	config.ListenPeerUrls = nil
	nobody := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	config.AdvertisePeerUrls = []url.URL{nobody}
	config.AdvertiseClientUrls = []url.URL{nobody}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	return config
}

func (s *store) close() {
	s.client.Close()
	s.server.Close()
	os.Remove(s.socket)
}
