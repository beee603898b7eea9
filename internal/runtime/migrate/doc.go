// Package migrate rewrites stored objects of a kind in the storage version of its CustomResourceDefinition and then
// removes older versions from status.storedVersions, so that a later release may drop them.
//
// An object stays stored in the version that it was last written in, for years if nobody writes
// it. So the objects are written as they are, one after the other: the API server reads them in
// their old version and stores them in the new one.
//
// Guarantees: a version is struck out only after every object was written by an API server that
// stores the new one, or was found to be gone. After a kill, what was written is not written again.
// Where there is nothing to migrate, only the definition is read. An object that cannot be written
// stops the striking out, and no other object.
// Assumptions: the resource versions of one kind are numbers that grow. Every API server follows a
// change of a definition within [Settle]. Permissions: get of the definition and update of its
// status, list and patch of the kind; what is missing is told, with the rule, and nothing else
// stops for it.
// Caveats: the mark by which a migration goes on is kept in a Lease; where the operator may not
// write it, a migration begins anew after a kill, which costs a request for each object, and no
// write for those that were written.
package migrate
