// Package shard lets several replicas of an operator share its objects: each works on some of them,
// and no two on the same.
//
// A [Member] is one replica. It announces itself by a Lease that it renews, and reads those of the
// others. A further Lease, the table, says who holds each slot of the space of hashes (see package
// table). A member takes slots that nobody holds, gives away what it has too much of, or all when
// it is told to stop, and takes what the dead held once their leases have run out and are deleted.
//
// Each part of a member owns the state of one subject: heartbeat (its Lease and the renewal), peers (the Leases
// of the others), assignment (the table) and slots (the fencing token of each slot). They share one lock.
//
// Guarantees: a slot has one holder by the table. A member sends writes only while its lease
// cannot have run out for anybody, and only for slots that it holds; what it has sent is answered, or
// given up by the API server, before others may take them. A member that is told to stop gives all
// away without waiting for a lease to run out.
//
// Assumptions: clocks of different machines go equally fast, within 2 %; what they show does not
// matter. The API server heeds the parameter timeout of a write. Nobody edits the Leases by hand; deleting them
// is survived.
//
// Caveats: a process that freezes between the last check of the clock and the sending of a request sends it
// when it continues, however late. Therefore every write carries the version of what it changes, which the API
// server refuses after any other write of the object. So at most one late write of each object takes effect: all
// that were checked before the freeze carry the same version, and none passes the check after it.
// docs/decisions/archive/0111-fencing.md states what remains.
package shard
