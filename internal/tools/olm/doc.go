// Package olm reads what a lifecycle manager has installed: the kinds of operators.coreos.com and olm.operatorframework.io, with the fields that the commands below
// `operon olm` need. It reads with the permissions of the caller, and names those that are missing.
//
//	state, err := olm.Read(ctx, client, "caches")
//	bill := state.Bill()        // operators, with their permissions, images and deprecations
//	answer, err := state.Why("memcached")   // why a Subscription does not move
//
// The subpackages use the same state: preview compares a plan with the cluster, change approves plans and removes operators, manager
// has the program and its project, and handback gives operators back to the Operator Lifecycle Manager.
//
// The fields are those of the Operator Lifecycle Manager. Those that only Operon's manager writes, such as the manifests of a plan, may be
// missing. All text in the objects is untrusted: the methods named Text escape it.
package olm
