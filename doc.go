// Package operon is the package that you import to write an operator. You declare which children should exist
// for a custom resource. The framework plans and applies the changes, prunes children that you no longer
// declare, waits until they are ready, and reports in the status, events, logs and metrics.
//
// # An operator
//
// Start with a main function that names the operator, the API that it works on, and one composer for each kind:
//
//	func main() {
//		operon.Main("memcached-operator",
//			operon.API(v1alpha1.AddToScheme),
//			operon.Manage(Memcached{}),
//		)
//	}
//
// [Main] reads flags, connects to the cluster, elects a leader and runs until SIGINT or SIGTERM. [Run] does
// the same for a program that already has a context and a connection, such as a test.
//
// # A composer
//
// A [Composer] is close to a pure function: given the object, it adds each child that should exist to a
// [Composition]. A child that it no longer adds is deleted.
//
//	func (Memcached) Compose(ctx context.Context, m *v1alpha1.Memcached, out *operon.Composition) error {
//		out.Child(deployment(m))
//		return nil
//	}
//
// Options change how a child is handled: [After], [ReadyWhen], [Replace], [Adopt], [Orphan].
//
// # More than children
//
// A composer can have further methods. An [Observer] fills in the status:
//
//	func (Memcached) Observe(ctx context.Context, m *v1alpha1.Memcached, seen *operon.Observed) error
//
// An [Upgrader] does something once for each object of an older version of the operator:
//
//	func (Memcached) Upgrade(ctx context.Context, m *v1alpha1.Memcached, from *operon.UpgradeContext) error
//
// A [WorkflowRunner] runs a workflow of several steps, such as a migration. Each step runs once. See package durable.
//
//	func (Memcached) RunWorkflow(ctx context.Context, m *v1alpha1.Memcached, run *durable.Run) error
//
// A [Finalizer] cleans up what the garbage collector does not know before the object is removed. A [Canceler] tells when a workflow that runs
// is no longer wanted.
//
//	func (Memcached) Finalize(ctx context.Context, m *v1alpha1.Memcached, out *operon.Finalization) error
//
// An [ActionHandler] offers actions on its objects, such as a backup. Users request one by creating an object of the
// kind Action:
//
//	func (Memcached) Actions() operon.Actions[*v1alpha1.Memcached]
//
// An [ExternalComposer] declares external resources, such as machines and buckets. See package external.
//
//	func (Groups) ComposeExternal(ctx context.Context, g *v1alpha1.VMGroup, out *operon.ExternalComposition) error
//
// A [Defaulter] sets defaults, a [Validator] rejects objects that are not valid, and a [DeletionValidator] rejects deletions. API servers
// call them as admission webhooks if [Config] defines how they reach the operator (see [Webhooks]). The operator creates and rotates the
// certificates itself. [Rules] are evaluated by the API servers.
//
// Every object that a composer reads with the Get and List methods of [Composition], [Observed] and [ExternalComposition] is
// watched from then on. When it changes, the custom resource is reconciled again.
//
// # What happens in a reconcile
//
// The steps are listed in internal/runtime/reconcile/steps.go: fetch, pace, pause, undo, finalize, upgrade, work,
// external, compose, read, plan, apply, await, observe, report. The status gets the conditions Ready, Reconciling
// and Stalled, and observedGeneration. The Go type of the kind must have fields for them.
//
// # Why an object was reconciled
//
// Each reconcile knows what caused it. It reports the cause in logs, OpenTelemetry spans, metrics and the
// operator's debug endpoint, which `operon explain KIND/NAME` reads. [Config] enables each of these; [Main] takes
// the settings from flags and the environment. In the source code, internal/runtime/queue/handler.go decides which
// events of the object itself queue it, internal/runtime/watches does so for its children and for what it read, and
// internal/runtime/queue/triggers.go records why. docs/architecture.md lists where to look for other questions.
//
// # Several replicas
//
// With [Config].Shards, which [Main] reads from --shards, replicas divide the objects among themselves. Each
// object belongs to one replica at a time. See docs/runtime/shards.md.
//
// # Escape hatches
//
// [Concurrency], [RateLimit], [Timeout] and [MigrateStorage] are options of [Manage]. [Version] sets the
// version of the operator.
//
// [Cluster] allows composers to read from other clusters. [Config] can enable a dry run, and limit an operator to namespaces. An operator
// is based on a controller-runtime manager. [Setup] gives you access to it, to add your own reconcilers, webhooks or anything else that a
// manager runs.
//
// # Other packages
//
// Package operontest tests an operator, in memory or against a real API server, package localtest starts one for any test, and package prove looks for reliability
// bugs. Package engine runs operators without Go, package aggregated serves APIs that a CustomResourceDefinition cannot, and package cel reads
// the readiness of a child from an expression.
package operon
