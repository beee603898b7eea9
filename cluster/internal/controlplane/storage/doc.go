// Package storage describes how the API server stores objects in etcd. It is for code that writes directly to etcd, such as the
// bootstrap and the reset of a cluster.
package storage
