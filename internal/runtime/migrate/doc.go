// Package migrate rewrites stored objects of a kind in the storage version of its CustomResourceDefinition. It then removes older
// versions from status.storedVersions, so that a later release can remove them from the CRD.
//
// An object stays stored in the version in which it was last written, for years if no client writes it. The migration writes each
// object unchanged: the API server reads it in its old version and stores it in the new one.
//
// Guarantees: a version is removed from status.storedVersions only after an API server that stores the new version has written every
// object, or the object was deleted. After a kill, objects that were written are not written again. If there is nothing to migrate,
// only the CRD is read. If an object cannot be written, the version is not removed; other objects are migrated.
//
// Assumptions: resource versions of one kind are increasing numbers. Every API server uses a changed CRD within [Settle]. Permissions:
// get the CRD, update its status, list and patch the kind. A missing permission is reported with the rule that grants it, and stops
// nothing else.
//
// Caveats: progress is recorded in a Lease. If the operator may not write it, a migration starts again after a kill, which costs one
// read for each object, and no write for those that were written.
package migrate
