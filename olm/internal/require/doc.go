// Package require checks what a ClusterServiceVersion needs from the cluster: CustomResourceDefinitions, aggregated APIs, ServiceAccounts
// with their permissions, kinds of the API server, and its version.
package require
