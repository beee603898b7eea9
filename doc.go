// Package operon is what an operator's author imports. The author declares which children
// should exist for a custom resource; the framework plans, applies, prunes, waits,
// observes and reports.
//
// # An operator
//
// An operator is a main function that names it, the API that it works on, and one
// composer for each kind:
//
//	func main() {
//		operon.Main("memcached-operator",
//			operon.API(v1alpha1.AddToScheme),
//			operon.Manage(Memcached{}),
//		)
//	}
//
// [Main] reads flags, connects, elects a leader and runs until it is told to stop. [Run]
// is the same for a program that has a context and a connection already, such as a test.
//
// # A composer
//
// A [Composer] is close to a pure function: given the object, it adds to a [Composition]
// each child that should exist. What it no longer adds is removed.
//
//	func (Memcached) Compose(ctx context.Context, m *v1alpha1.Memcached, out *operon.Composition) error {
//		out.Child(deployment(m))
//		return nil
//	}
//
// Options say more of a child: [After], [ReadyWhen], [Replace], [Adopt], [Orphan].
//
// # Further roles
//
// A composer may take on more, each by one more method. An [Observer] fills the status:
//
//	func (Memcached) Observe(ctx context.Context, m *v1alpha1.Memcached, seen *operon.Observed) error
//
// An [Upgrader] does what has to be done once for objects of an older version of the operator:
//
//	func (Memcached) Upgrade(ctx context.Context, m *v1alpha1.Memcached, from *operon.Upgrading) error
//
// A [Worker] does what takes several steps, such as a migration, each of them once, by package durable:
//
//	func (Memcached) Work(ctx context.Context, m *v1alpha1.Memcached, run *durable.Run) error
//
// An [Actor] offers what can be done on its objects, such as a backup, which users ask for by objects of
// the kind Action:
//
//	func (Memcached) Actions() operon.Actions[*v1alpha1.Memcached]
//
// A [Provisioner] declares what should exist outside of the cluster: see package external.
//
//	func (Groups) Provision(ctx context.Context, g *v1alpha1.VMGroup, out *operon.Provision) error
//
// A [Defaulter] fills in defaults, a [Validator] refuses what is not valid, and a
// [DeletionValidator] refuses deletions. API servers ask them by webhooks, with certificates that the
// operator makes and renews itself, where [Config] says how it is reached ([Webhooks]). [Rules] are
// judged by API servers themselves.
//
// What any of them reads, by Get and List of [Composition], [Observed] and [Provision], is watched
// from then on, and the object reconciled again when that changes.
//
// # What happens in a reconcile
//
// The list of steps stands in internal/runtime/reconcile/steps.go: fetch, pace, pause, undo, finalize, upgrade, work,
// external, compose, observe, plan, apply, await, status, report. The status gets the conditions Ready, Reconciling
// and Stalled and observedGeneration; the kind's Go type has to have the fields for them.
//
// # Why
//
// Each reconcile knows what it is for, and tells it in logs, OpenTelemetry spans, metrics and
// the operator's debug endpoint, by which `operon explain KIND/NAME` answers. [Config] says
// what of it is on; [Main] reads it from flags and the environment.
//
// # Several replicas
//
// With [Config].Shards, which [Main] reads from --shards, replicas share the objects and no
// object has two owners: see package shard.
//
// # Escape hatches
//
// [Concurrency], [RateLimit], [Timeout] and [MigrateStorage] are options of [Manage]. [Version] names
// the operator's.
//
// [Cluster] lets composers read in other clusters. [Config] has a dry run, and limits an
// operator to namespaces. Underneath is a controller-runtime manager. [Setup] reaches it, to
// add plain reconcilers, webhooks or anything else that a manager runs.
package operon
