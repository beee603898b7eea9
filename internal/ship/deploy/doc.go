// Package deploy deploys an operator to a cluster, where it runs in pods, and removes it again.
//
// [Run] is `operon deploy DIR`. Package generate/install builds the objects and, if no image is named, package build builds
// the image. This package applies a deployment completely or not at all:
//
//	permission   all permissions that it needs, checked before anything is changed
//	build        the image, whose digest is part of the dry run
//	survey       existing objects: its own, those of other clients
//	rehearsal    every object, as a dry run on the API server
//	deliver      the image, to the nodes of the cluster or to a registry
//	write        server-side apply; a first deployment that fails halfway is reverted
//	prune        objects of the earlier deployment that are not in this one
//	wait         until the pods are ready and webhooks answer, or the reason why not
//
// All objects of a deployment have a label and are recorded in the operator's namespace, by the ApplySet convention, so that
// the next deployment prunes and [Undeploy] removes exactly these objects. [Undeploy] deletes the custom resources while the
// operator can still handle their finalizers, and then the operator. [Logs] and [Restart] work on the pods.
package deploy
