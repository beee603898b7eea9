// Package fast is a list of accelerations: what makes a local cluster start sooner, react sooner or take less than
// the components of package controlplane do by themselves. Each has a name, a gain and can be switched off alone;
// TestParity compares a cluster with all of them with one that has none.
//
// Each new minor release of Kubernetes needs a look at the code here: it replaces or intercepts parts of
// k8s.io/kubernetes, and takes steps of its app.Run from what that exports.
package fast
