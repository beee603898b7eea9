// Package early lets the program be, for a moment or for good, one of the small programs
// that a node needs: the process with the number 1 of its namespaces, the shim that holds
// a pod's containers, the CNI plugin that connects a pod.
//
// They run from this package's initialisation, before main and, as packages are
// initialised in the order of their import paths, before what is under k8s.io: a node runs
// several of them for each pod, and those that wait would otherwise each spend the time and
// keep the memory that Kubernetes takes to set itself up. Which one is meant is told by the name
// that the program is called by. Import it for its effect, from a main package only.
package early
