// Package up runs an operator project while its author edits it, and removes it again.
//
// [Run] is `operon up DIR`. It brings everything that an operator needs to a cluster, and runs the
// operator itself on this machine:
//
//	read the project         package project
//	the cluster   ┐          a local one (package local), or any by kubeconfig
//	the operator  ┘          `go build`, at the same time
//	access                   a namespace, a ServiceAccount and its Roles
//	CRDs                     applied, and waited for until they are served
//	admission policies       applied, and those of earlier runs removed
//	start                    under the ServiceAccount's identity, not the user's
//	samples                  applied, every field checked
//	loop                     watch, show, rebuild, apply again
//
// The identity is the point of it: the operator has here the permissions that it will have in the
// cluster, so that a missing one shows now. [Down] is `operon down DIR` and removes all that Run
// put into the cluster, which carries a label for that; what was there before is left there.
//
// Until everything has worked once, whatever goes wrong ends Run with an error. From then on it is
// a problem to be shown, and the old state of things runs on until it is solved.
package up
