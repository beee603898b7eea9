// Package shard distributes the objects of an operator over several replicas: each reconciles some of them, and as long as only
// the replicas write their Leases, no two of them reconcile the same object.
//
// A [Member] is one replica. It renews a Lease of its own and reads those of the others. Another Lease, the table, assigns each slot of
// the hash space to a member (see package shardtable). A member takes free slots, releases slots if it has more than its share, and releases
// all of them at shutdown. When the Lease of a member has expired and was deleted, others take its slots.
//
// Each part of a member owns the state of one subject: heartbeat (its Lease and the renewal), peers (the Leases of the others),
// assignment (the table) and slots (the fencing token of each slot). They share one lock.
//
// Guarantees: by the table, a slot has one holder. A member sends writes only for slots that it holds, and only while no other member
// can consider its Lease expired. Before others can take the slots, its requests are answered, or the API server has given them up. A
// member that shuts down releases its slots without waiting for a Lease to expire.
//
// Assumptions: clocks of different machines run at the same speed, within 2 %; the time that they show does not matter. The API server
// honors the parameter timeout of a write. No client edits the Leases. Deleted Leases are created again.
//
// Caveats: a process that freezes between the last check of the clock and the sending of a request sends it when it continues, however
// late. Therefore every write carries the version of what it changes, which the API server refuses after any other write of the
// object. So at most one late write of each object takes effect: all that were checked before the freeze carry the same version, and
// none passes the check after it. docs/decisions/archive/0111-fencing.md has the details.
package shard
