// Package multicall makes the program act as one of the small programs that a node needs: the process with the number
// 1 of its namespaces, the shim that holds a pod's containers, the CNI plugin that connects a pod.
//
// They run from this package's initialisation, before main: a node runs several of them for
// each pod. Packages are initialized in the order of their import paths, as far as they do
// not need each other, so that this comes before those parts of Kubernetes that need gRPC;
// the others are set up in each of these programs, which takes about 40 ms of a processor
// and 15 MB. Which program is meant is told by the name that this one is called by. Import
// it for its effect, from a main package only.
package multicall
