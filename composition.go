package operon

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/runtime/author"
)

// reader reads objects that a composer depends on.
type reader struct {
	from interface {
		Get(ctx context.Context, object client.Object) (bool, error)
		List(ctx context.Context, list client.ObjectList, labels client.MatchingLabels, options ...client.ListOption) error
		In(cluster string) *author.Elsewhere
	}
}

// Get reads an object by its kind, name and namespace into object; without a namespace, the owner's is used. It returns
// false if the object or its kind does not exist in the cluster. The owner is reconciled again whenever the object is
// created, changed or deleted. object may be a Go type, unstructured, or metav1.PartialObjectMetadata, of which only
// the metadata is read and cached.
func (r reader) Get(ctx context.Context, object client.Object) (bool, error) {
	return r.from.Get(ctx, object)
}

// List reads the objects in the owner's namespace that have the labels. The owner is reconciled again whenever one of
// them is created, changed or deleted. Labels are required, because they limit the cache, unless an option selects:
// client.MatchingLabelsSelector, client.HasLabels or Everything. client.InNamespace chooses another namespace, or with
// "" all of them. The objects are ordered by namespace and name. With client.UnsafeDisableDeepCopy, they are those of the cache, and must
// not be changed.
func (r reader) List(ctx context.Context, list client.ObjectList, labels client.MatchingLabels, options ...client.ListOption) error {
	return r.from.List(ctx, list, labels, options...)
}

// In returns a reader for another cluster, with the name that was passed to Cluster. Its Get and List work as in the
// operator's own cluster. Nothing is written there.
func (r reader) In(cluster string) *OtherCluster { return &OtherCluster{r.from.In(cluster)} }

// OtherCluster reads objects in another cluster and watches them there.
type OtherCluster struct{ from *author.Elsewhere }

// Get is the same as Composition.Get, for the other cluster.
func (c *OtherCluster) Get(ctx context.Context, object client.Object) (bool, error) {
	return c.from.Get(ctx, object)
}

// List is the same as Composition.List, for the other cluster.
func (c *OtherCluster) List(ctx context.Context, list client.ObjectList, labels client.MatchingLabels, options ...client.ListOption) error {
	return c.from.List(ctx, list, labels, options...)
}

// reporter reports about the object.
type reporter struct {
	to interface {
		Wait(reason, message string)
		Fail(reason, message string)
		RequeueAfter(after time.Duration)
		Event(reason, message string)
		Warning(reason, message string)
	}
}

// Wait reports that something else has to happen before the remaining children can be declared or the remaining work
// can be done. reason is one CamelCase word and message a sentence; both are set in the conditions Ready and
// Reconciling. In Compose, the children that were declared are applied, and nothing is pruned.
func (r reporter) Wait(reason, message string) { r.to.Wait(reason, message) }

// Fail reports an error that only a change of the object, or of an object that was read for it, can resolve: Ready is
// False and Stalled is True, with the reason, one CamelCase word, and the message, a sentence. The object is not
// retried until then. In Compose, the children that were declared are applied, and nothing is pruned.
func (r reporter) Fail(reason, message string) { r.to.Fail(reason, message) }

// RequeueAfter reconciles the object again after a duration, even if nothing changes until then. If it is called
// several times, the shortest duration applies.
func (r reporter) RequeueAfter(after time.Duration) { r.to.RequeueAfter(after) }

// Event records a Kubernetes Event of type Normal about the object. reason is one CamelCase word, message a sentence
// of at most 1,024 bytes. Call it in every reconcile in which it applies: it is sent only if the previous reconcile
// did not record the same event.
func (r reporter) Event(reason, message string) { r.to.Event(reason, message) }

// Warning is Event with the type Warning.
func (r reporter) Warning(reason, message string) { r.to.Warning(reason, message) }

// Composition collects the children that a Composer declares, reads the objects that they depend on, and reports what
// is missing.
type Composition struct {
	reader
	reporter
	out *author.Composition
}

func newComposition(out *author.Composition) *Composition {
	return &Composition{reader{out}, reporter{out}, out}
}

// Child declares that object should exist. It may be typed or unstructured. It must have a name, and only the fields
// that matter. Without a namespace it gets the namespace of its owner. Children are created in the order of their
// declaration, unless options change it. A child that is declared conditionally is deleted when the condition no longer
// holds. If it has a metadata.resourceVersion, it is only written over that version of an existing object, and otherwise the reconcile is
// retried with the reason ChildChanged.
func (c *Composition) Child(object client.Object, options ...ChildOption) {
	c.out.Child(object, options...)
}

// GeneratedSecret declares a Secret with values that are generated once, such as a password. generate adds the keys
// that data lacks and leaves the others alone. data is what the Secret contains, in the cluster and in secret.Data.
// Stored values are kept: they are generated again only if the Secret or the key is deleted. Afterwards, secret.Data
// has all values, for other children.
//
//	credentials := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: p.Name}}
//	err := out.GeneratedSecret(ctx, credentials, func(data map[string][]byte) {
//		if data["password"] == nil {
//			data["password"] = []byte(rand.Text())
//		}
//	})
//
// Caveats: if the Secret or a key is deleted before the operator's cache shows it, the deleted value is restored. To rotate a value, delete
// the key again in that case, or use a new key.
//
// Before anything is generated, the Secret is read from the API server, so that neither a stale cache nor a restart
// replaces a password. generate may be called twice; the first result is then dropped.
func (c *Composition) GeneratedSecret(ctx context.Context, secret *corev1.Secret, generate func(data map[string][]byte), options ...ChildOption) error {
	return c.out.GeneratedSecret(ctx, secret, generate, options...)
}

// Label declares a label of the object itself, which may have a kind that is owned by others: see WithoutStatus. It is set again if another
// client changes it, and removed when it is no longer declared.
func (c *Composition) Label(key, value string) { c.out.Label(key, value) }

// Annotate declares an annotation of the object itself, like Label.
func (c *Composition) Annotate(key, value string) { c.out.Annotate(key, value) }

// Partial reports that not all children could be declared: nothing is pruned in this reconcile. Unlike Wait, it does
// not change the Ready condition.
func (c *Composition) Partial() { c.out.Partial() }

// DryRun reports that nothing may be changed, inside or outside of the cluster: see Config.DryRun. Requests to the API server
// that change something fail. A composer that does nothing but declare children needs no such check.
func (c *Composition) DryRun() bool { return c.out.DryRun() }

// Children returns the children that were declared, in order.
func (c *Composition) Children() []client.Object { return c.out.Children() }

func (c *Composition) external() author.ExternalReader { return c.out }

// Observed gives an Observer access to the children, and to all other objects that it reads. The object is reconciled
// again when any of them changes.
type Observed struct {
	reader
	reporter
	seen *author.Observed
}

func newObserved(seen *author.Observed) *Observed {
	return &Observed{reader{seen}, reporter{seen}, seen}
}

// Child reads the live state of a declared child, by its kind and name, into
// object. It returns false while the child does not exist. Kinds that are read in this way
// are cached as whole objects; of others, only the fields that plans need.
func (o *Observed) Child(ctx context.Context, object client.Object) (bool, error) {
	return o.seen.Child(ctx, object)
}

// Unapplied returns the reason why not all declared children are applied, as in the Ready condition. Both strings are
// empty if all are applied, ready or not. failed reports that the reason is an error rather than a wait.
func (o *Observed) Unapplied() (reason, message string, failed bool) {
	u := o.seen.Unapplied
	return u.Reason, u.Message, u.Failed
}

// NotReady sets the condition Ready to False although all children are ready, for example because the last backup
// failed. reason is one CamelCase word, message a sentence.
func (o *Observed) NotReady(reason, message string) { o.seen.NotReady(reason, message) }

// Degraded sets the condition Degraded to True for as long as every Observe reports it: the object works, but not as
// well as it should. It does not change Ready.
func (o *Observed) Degraded(reason, message string) { o.seen.Degraded(reason, message) }

func (o *Observed) external() author.ExternalReader { return o.seen }

// Finalization is the context of a Finalizer, for reads and reports.
type Finalization struct {
	reader
	reporter
	out *author.Finalization
}

// Client reads and writes without a cache. Objects that it writes are not children: set an owner reference on them, or
// delete them.
func (f *Finalization) Client() client.Client { return f.out.Client() }

func newFinalization(out *author.Finalization) *Finalization {
	return &Finalization{reader{out}, reporter{out}, out}
}

// ExternalComposition collects the external resources that an ExternalComposer declares: see ExternalKind.
type ExternalComposition struct {
	reader
	reporter
	out *author.ExternalComposition
}

func newExternalComposition(out *author.ExternalComposition) *ExternalComposition {
	return &ExternalComposition{reader{out}, reporter{out}, out}
}

// ExternalResources is a kind of external resources, to which Declare adds resources.
type ExternalResources[D any] struct{ of *author.ExternalResources[D] }

// ExternalKind declares a kind of external resources and its provider. The author chooses the name of the kind, which
// is recorded: it must not change between versions of the operator. Resources that were declared before and are not
// declared on the result are deleted.
func ExternalKind[D, S any](out *ExternalComposition, kind string, provider external.Provider[D, S], options ...external.KindOption) *ExternalResources[D] {
	return &ExternalResources[D]{author.ExternalKind(out.out, kind, provider, options...)}
}

// Declare declares that a resource should exist. Its name is unique for its kind and object, and is recorded.
func (r *ExternalResources[D]) Declare(name string, desired D, options ...external.Option) {
	r.of.Declare(name, desired, options...)
}

// ExternalReader is the argument of External: a *Composition or an *Observed.
type ExternalReader interface{ external() author.ExternalReader }

// External returns the known state of the external resources of a kind, ordered by name. Use it in Compose, for example
// to declare a Secret with connection details, and in Observe. S is the state type of the provider; any other type is
// an error.
func External[S any](from ExternalReader, kind string) ([]external.Known[S], error) {
	return author.External[S](from.external(), kind)
}

// TerminalError wraps err in an error that is not retried: the object is Stalled with the reason, one CamelCase word, until it or an object
// that was read for it changes. Every method of a composer may return it. It does the same as Fail, for code that has no Composition.
func TerminalError(reason string, err error) error {
	return &author.TerminalError{Reason: reason, Err: err}
}
