// Package storage describes how the API server stores objects in etcd. Code that writes to etcd beside the API server uses it, such as
// the bootstrap of a new cluster and its reset.
package storage
