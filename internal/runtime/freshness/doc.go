// Package freshness makes an operator see its own writes although caches are stale, and tells the watch events of its own writes from
// those of other clients.
//
// A cache shows a write when the watch event arrives, which is later than the response to the write. Code that decides on a stale cache
// creates objects twice and undoes its own changes. A Ledger stores the response to each write until the watches have shown it, and
// overlays it on the cache. Three adapters use it:
//
//   - Children: writes of package apply, and watches of package watches.
//   - Overlay: the manager's client.
//   - Echoes: the status and the finalizers of the reconciled object, whose watch events must not requeue it.
//
// Guarantees: a read never returns an object older than the operator's last write to it: create, update, patch, apply, status update or
// delete. A deleted object reads as being deleted until the cache has seen its end. Nothing waits: no write for a watch event, no read,
// and no object for another one. The Ledger contains only writes that watches will show and have not shown yet.
//
// Assumptions: a kind is read before it is written; nothing is stored for a kind that was never read. Resource versions of one kind are
// increasing numbers. Caches are replaced atomically after a relist, which client-go does (AtomicFIFO).
//
// Caveats: in the manager's client, DeleteAllOf and subresources other than status have no overlay. A list by an indexed field shows new
// objects only when the cache does, unless the cache of Overlay.Cache created the index. The version of a deletion is unknown: if another
// client removes an object from a watch's selection and adds it again while the operator deletes it, the object may again read as
// not being deleted. A starting operator has an empty Ledger and fills its caches first.
package freshness
