// Package tree watches what an operator creates for its custom resources: the resources themselves, their children by
// ownerReferences, and theirs, down to the pods; whether each is ready, and if not, why.
//
//	watcher, err := tree.Watch(ctx, config, roots)
//	for range watcher.Changed() {
//		for _, node := range watcher.Snapshot().Roots {
//			fmt.Println(node.Title(), node.State, node.Message)
//		}
//	}
//
// Which kinds an operator makes is not known beforehand, so all kinds that the API server
// lists are watched, but only in the namespaces where the roots are: an owner and its
// children share a namespace. Contents of Secrets and ConfigMaps are not kept.
//
// Whether an object is ready is judged as kstatus does, and more strictly for custom
// resources: one that its operator has not written a status for is not ready.
package tree
