// Package sim simulates the nodes of a cluster that has none: pods become Running and Ready although no container
// runs, claims are bound although there is no disk, and Services of type LoadBalancer get an address that leads
// nowhere. Whoever watches the API cannot tell the difference, and thousands of pods cost next to nothing.
//
// What happens to an object is said by stages, in the language of KWOK
// (https://kwok.sigs.k8s.io): a stage selects objects, waits, and patches, deletes or
// reports. The stages stand in the folder stages, one file each. They select on two words
// that Go code adds to each object under .sim: what the object wants to be, which follows
// from its spec, its annotations and its node; and what its status says that it is. So the
// folder is a table with those two columns, and nothing is written for an object whose two
// words agree: a cluster at rest is silent but for the heartbeats of its nodes.
//
// KWOK's stage engine is used (its packages lifecycle and gotpl), and not the controllers
// that KWOK builds around it: those keep goroutines after their context has ended, give up
// on an object after most errors, and may write a status that was worked out from a
// version of the object, or even from an object of that name, that is gone. What is done
// instead is in feed.go and engine.go.
//
// Failures are asked for by annotation, see annotations.go; every part of a pod's life is
// in pod.go, every part of a node's in node.go. Volumes (volume.go) and load balancers
// (service.go) need no stages. The endpoint that answers kubectl logs and exec is in
// kubelet.go.
package sim
