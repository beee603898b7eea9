// Package internal contains the embedded Kubernetes: keys, the simulator, nodes, the control plane, and the instances that the
// command operon-cluster starts and stops by name.
//
// Its packages import Kubernetes and each other, from the parts up to the instance, but not the root module: the Kubernetes
// versions of the two modules can differ.
package internal
