// Package metrics serves the API group metrics.k8s.io, for kubectl top and the horizontal
// pod autoscaler: what nodes and pods use, as metrics-server serves it elsewhere. The group
// is a part of the API server: who asks, and whether they may, is found out there.
//
// Figures are worked out when somebody asks. A node that runs containers is asked for them
// through the API server's proxy: its kubelet takes samples for its own needs, and tells
// the working set and the processor time between the last two. What simulated pods use is
// written in their annotations, see package sim. So nothing is polled or kept here, and
// nothing is done in a cluster in which nobody asks.
//
// Guarantees: what is not known is left out, never zero: nodes that are not ready and their
// pods, and pods of which a running container has no figure yet.
package metrics
