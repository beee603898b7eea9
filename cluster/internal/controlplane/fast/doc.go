// Package fast is a list of accelerations. They make a local cluster start faster, react faster or use less memory than the
// components of package controlplane alone. Each has a name and a gain, and can be switched off. TestParity compares a cluster
// with all of them with a cluster without any.
//
// Check the code of this package with each new minor release of Kubernetes: it replaces or intercepts parts of
// k8s.io/kubernetes, and rebuilds steps of its app.Run from the identifiers that its package exports.
package fast
