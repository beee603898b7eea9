// Package tree watches what an operator creates for its custom resources: the resources themselves and their descendants by
// ownerReferences, down to the pods; whether each is ready, and if not, why.
//
//	watcher, err := tree.Watch(ctx, config, roots)
//	for range watcher.Changed() {
//		for _, node := range watcher.Snapshot().Roots {
//			fmt.Println(node.Title(), node.State, node.Message)
//		}
//	}
//
// The kinds that an operator creates are not known in advance, so all kinds that the API server lists are watched, but only in the
// namespaces of the roots: an owner and its children share a namespace. Contents of Secrets and ConfigMaps are not stored.
//
// Readiness is computed like kstatus does, and more strictly for custom resources: without a status from its operator, a custom resource is
// not ready.
package tree
