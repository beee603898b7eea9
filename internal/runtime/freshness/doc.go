// Package freshness lets an operator read its own writes, although caches lag behind them, and tells the watch events of
// its own writes from news.
//
// A cache shows a write when its watch does, which is later than the answer to the write. Code that decides on what it
// reads then decides on the state before its own last act: it creates twice, and undoes what it did. A Ledger holds the
// answer of each write until the watches have shown it, and lays it over what the cache says. Three adapters use it:
//
//   - Children: what package apply writes and package watches shows.
//   - Overlay: the manager's client.
//   - Echoes: the status of the reconciled object, whose watch events must not requeue it.
//
// Guarantees: a read never returns an object older than the last own write to it: created, updated, patched, applied, its
// status written, or deleted. An object that was deleted reads as being deleted until the cache has seen its end. Nothing
// waits: neither a write for the watch, nor a read, nor one object for another. What is held is the writes that watches
// have not shown yet and will, and nothing else.
//
// Assumptions: a kind is read before it is written: of a kind that was never read, nothing is held. The resource versions
// of one kind are numbers that grow. Caches are replaced as a whole after a relist, which client-go does (AtomicFIFO).
//
// Caveats: of the manager's client, DeleteAllOf and subresources other than status are not laid over. A list by the
// field of an index shows new objects once the cache does, unless the index is made by the cache of Overlay.Cache. The
// version of a deletion is unknown: an object that another writer takes out of a watch's selection and puts back, while the
// operator deletes it, may read as not being deleted once more. An operator that starts holds nothing, and reads caches again.
package freshness
