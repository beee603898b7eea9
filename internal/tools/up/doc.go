// Package up runs an operator project while its author edits it, and removes it again.
//
// [Run] is `operon up DIR`. It installs everything that an operator needs in a cluster, and runs the operator itself on this machine:
//
//	read the project         package project
//	the cluster   ┐          a local one (package local), or any by kubeconfig
//	the operator  ┘          `go build`, at the same time
//	access                   a namespace, a ServiceAccount and its Roles
//	CRDs                     applied; wait until they are served
//	admission policies       applied; those of earlier runs removed
//	start                    with the ServiceAccount's identity, not the user's
//	samples                  applied with strict field validation
//	loop                     watch, show, rebuild, apply again
//
// Because of the identity, the operator has the permissions that it will have in the cluster, and a missing one shows immediately. [Down] is
// `operon down DIR` and removes everything that Run created in the cluster, which has a label. Objects that existed before remain.
//
// Until everything has worked once, any problem ends Run with an error. After that, problems are shown, and the previous version continues to
// run until they are fixed.
package up
