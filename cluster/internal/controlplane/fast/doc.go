// Package fast is a list of accelerations that make a local cluster start sooner, react sooner or use less memory than the components of
// package controlplane do otherwise. Each has a name and a gain, and can be switched off. TestParity compares a cluster with all
// of them with one that has none.
//
// Check the code here with each new minor release of Kubernetes: it replaces or intercepts parts of k8s.io/kubernetes, and rebuilds steps
// of its app.Run from what that package exports.
package fast
