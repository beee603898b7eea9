// Package sim simulates the nodes of a cluster without real nodes: pods become Running and Ready although no container runs,
// claims are bound although no disk exists, and Services of type LoadBalancer get an address that is not reachable. Clients that
// only read objects cannot detect the difference, and thousands of pods need almost no resources.
//
// Stages in the language of KWOK (https://kwok.sigs.k8s.io) describe what happens to an object: a stage selects objects, waits,
// and patches, deletes or reports. The directory stages has a file for each. They select on two words that Go code adds to each
// object under .sim: the desired state, which follows from its spec, its annotations and its node, and the state in its status.
// The directory is a table with these two columns. Nothing is written for an object whose two words agree: an idle cluster has
// no writes except the heartbeats of its nodes.
//
// The package uses KWOK's stage engine (its packages lifecycle and gotpl), but not its controllers: those keep goroutines after
// their context has ended, drop an object after most errors, and may write a status that was computed from an old version of
// the object, or even from a deleted object with the same name. feed.go and engine.go replace them.
//
// Annotations request failures, see annotations.go. The life of a pod is in pod.go, the life of a node in node.go. Volumes
// (volume.go) and load balancers (service.go) need no stages. The endpoint for kubectl logs and exec is in kubelet.go.
package sim
