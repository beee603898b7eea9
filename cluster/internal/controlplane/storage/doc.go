// Package storage knows how the API server lays out objects in etcd. What writes to etcd beside the API
// server, such as the bootstrap of a new cluster and its reset, does so in these terms.
package storage
