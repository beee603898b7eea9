// Package multicall makes the program act as one of the small programs that a node needs: the init process of its namespaces,
// the shim that manages the containers of a pod, or the CNI plugin that connects a pod.
//
// They run during the initialization of this package, before main: a node runs several of them for each pod. Packages that do
// not depend on each other are initialized in the order of their import paths. Therefore this package is initialized before the
// parts of Kubernetes that need gRPC. The other packages are initialized in each of these programs, which takes about 40 ms of
// processor time and 15 MB. The name by which the program is called selects the program. Import this package only for its side
// effect, and only from a main package.
package multicall
