package author

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/external"
)

// Composition collects the children that a composer declares.
type Composition struct {
	reading
	children []*Child
	partial  bool
	dryRun   bool
	metadata Metadata
	direct   client.Reader // bypasses all caches; may be nil
	verdict
}

// Composed is what a composer declared.
type Composed struct {
	// Children in the order of their declaration.
	Children []*Child
	// Metadata of the object itself.
	Metadata Metadata
	Verdict
	// Incomplete means that more may be composed later, so that nothing is pruned.
	Incomplete bool
}

// Declared returns what a composer declared.
func Declared(out *Composition) Composed {
	return Composed{out.children, out.metadata, out.verdict.found, len(out.found.Outcomes) > 0 || out.partial}
}

// NewComposition returns the composition of an owner whose composer reads through reads. If reads is nil, the composer cannot
// read.
func NewComposition(owner client.Object, reads Reads) *Composition {
	return NewCompositionWith(owner, reads, nil, nil)
}

// NewCompositionWith is NewComposition with a reader that bypasses all caches, and with the known external resources of the
// owner, by kind.
func NewCompositionWith(owner client.Object, reads Reads, direct client.Reader, known map[string][]external.Known[any]) *Composition {
	return &Composition{reading: reading{reads: reads, owner: owner, outside: known}, direct: direct}
}

// SetDryRun makes the composition one of a dry run.
func (c *Composition) SetDryRun() { c.dryRun = true }

// DryRun reports that nothing may be changed.
func (c *Composition) DryRun() bool { return c.dryRun }

// Child declares that an object should exist. It may be typed or unstructured, and needs a name and only the relevant fields
// of its spec. The default namespace is the owner's. Children are created in the order of their declaration, unless options
// change that. If a child is declared only under a condition, it is deleted when the condition no longer holds.
func (c *Composition) Child(object client.Object, options ...ChildOption) {
	declared := &Child{Object: object}
	for _, option := range options {
		option(declared)
	}
	c.children = append(c.children, declared)
}

// Metadata is the metadata that a composer declares for the object itself.
type Metadata struct{ Labels, Annotations map[string]string }

// Label declares a label of the object itself. If another client changes it, it is restored. It is removed when it is no
// longer declared.
func (c *Composition) Label(key, value string) { set(&c.metadata.Labels, key, value) }

// Annotate declares an annotation of the object itself. If another client changes it, it is restored. It is removed when it
// is no longer declared.
func (c *Composition) Annotate(key, value string) { set(&c.metadata.Annotations, key, value) }

func set(all *map[string]string, key, value string) {
	if *all == nil {
		*all = map[string]string{}
	}
	(*all)[key] = value
}

// Partial reports that more objects may have to exist than were declared: undeclared objects are not deleted. Unlike Wait, it
// does not affect the Ready condition.
func (c *Composition) Partial() { c.partial = true }

// GeneratedSecret declares a Secret with data that is generated once.
func (c *Composition) GeneratedSecret(ctx context.Context, secret *corev1.Secret, generate func(data map[string][]byte), options ...ChildOption) error {
	stored := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: secret.Namespace, Name: secret.Name}}
	if _, err := c.Get(ctx, stored); err != nil {
		return err
	}
	data, complete := generated(secret.Data, stored.Data, generate)
	if !complete && c.direct != nil { // the cache may not show yet what an earlier reconcile generated
		err := c.direct.Get(ctx, client.ObjectKeyFromObject(stored), stored)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("get Secret %s: %w", client.ObjectKeyFromObject(stored), err)
		}
		if err == nil {
			data, _ = generated(secret.Data, stored.Data, generate)
		}
	}
	secret.Data = data
	c.Child(secret, options...)
	return nil
}

// generated returns the declared and stored data together with the data that generate adds. complete is true if generate adds nothing.
func generated(declared, stored map[string][]byte, generate func(map[string][]byte)) (data map[string][]byte, complete bool) {
	data = map[string][]byte{}
	maps.Copy(data, declared)
	maps.Copy(data, stored)
	before := len(data)
	generate(data)
	return data, len(data) == before
}

// Children returns the declared children in order.
func (c *Composition) Children() []client.Object {
	var objects []client.Object
	for _, declared := range c.children {
		objects = append(objects, declared.Object)
	}
	return objects
}
