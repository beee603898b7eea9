// Package deploy deploys an operator to a cluster, to run there in pods, and removes it again.
//
// [Run] is `operon deploy DIR`. What it applies is built by package generate/install, and the image, where none is named,
// by package build; what it sees to is that a deployment is all there or not at all, and is as the project says:
//
//	permission   all that it will do, asked of the API server before anything is done
//	build        the image, whose digest is part of what is tried
//	survey       what is there already: its own, somebody else's, or nobody's
//	rehearsal    every object, as a dry run of the API server's
//	deliver      the image goes into the cluster's nodes, or to a registry
//	write        server-side apply; a first deployment that fails halfway is taken back
//	prune        what an earlier deployment made and this one does not
//	wait         until the pods are ready and webhooks answer, or why they do not
//
// All that belongs to a deployment carries a label and is recorded beside the operator, by the ApplySet
// convention, so that the next one prunes and [Undeploy] removes exactly that. [Undeploy] removes the
// custom resources while the operator still clears their finalizers, and the operator after them. [Logs] and
// [Restart] are about the pods.
package deploy
