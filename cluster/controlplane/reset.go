package controlplane

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// snapshot is what etcd held at one time: key → value.
type snapshot map[string][]byte

// empty tells whether the API server has never stored anything here.
func (s *store) empty(ctx context.Context) (bool, error) {
	response, err := s.client.Get(ctx, registry, clientv3.WithPrefix(), clientv3.WithLimit(1), clientv3.WithKeysOnly())
	if err != nil {
		return false, fmt.Errorf("read etcd: %w", err)
	}
	return len(response.Kvs) == 0, nil
}
