// Package metrics serves the API group metrics.k8s.io, for kubectl top and the horizontal pod autoscaler: the resource usage of nodes and
// pods, which metrics-server serves elsewhere. The group is a part of the API server, which authenticates and authorizes requests.
//
// Usage is computed on request. Container nodes are queried through the API server's proxy: the kubelet takes samples for its own needs
// and returns the working set and the CPU time between the last two. The usage of simulated pods is in their annotations, see package
// sim. Nothing is polled or stored, and without requests nothing runs.
//
// Guarantees: unknown usage is omitted, never zero. This applies to nodes that are not ready and their pods, and to pods with a running
// container that has no usage yet.
package metrics
