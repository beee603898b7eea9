package reconcile

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/report"
)

// Declared is a child as a composer declared it.
type Declared struct {
	// Fields are the fields that were set, without those that Operon adds when it applies the child.
	Fields *unstructured.Unstructured
	plan.Options
	// Ready describes in words how readiness is determined. It is empty if kstatus determines it.
	Ready []string
}

// Declaration is what a composer declares for an object.
type Declaration struct {
	// Children in the order of their declaration.
	Children []Declared
	// Waits are the reasons for which the composer waits.
	Waits []outcome.Outcome
}

// Declare composes an object with the step that a reconcile uses, so that every problem that would end a
// reconcile is found here: then the outcome is not done, and names the problem. It writes
// nothing, and reads what the composer reads.
func (r *Reconciler[T]) Declare(ctx context.Context, of T) (Declaration, outcome.Outcome) {
	p := &pass[T]{reads: r.Reads(client.ObjectKeyFromObject(of)), known: &remembered{}, entry: &report.Entry{}}
	p.object = &object[T]{now: of, before: of}
	composeFilled := func(ctx context.Context, p *pass[T]) (outcome.Outcome, error) { // with defaults, as after a fetch
		if err := fill(ctx, r.Roles, p.object); err != nil {
			return outcome.Done(), err
		}
		return into(&p.composed, r.compose)(ctx, p)
	}
	if _, err := guarded(ctx, step[T]{run: composeFilled}, p); err != nil {
		return Declaration{}, explain(err)
	}
	if failed := outcome.Combine(p.composed.waits...); failed.Kind() > outcome.KindWait {
		return Declaration{}, failed
	}
	declaration := Declaration{Waits: p.composed.waits}
	for _, child := range p.composed.declared.Children {
		fields, err := r.applier.Fields(child.Object)
		if err != nil {
			return Declaration{}, explain(err)
		}
		id, err := r.applier.Identify(of, child.Object)
		if err != nil {
			return Declaration{}, explain(err)
		}
		declaration.Children = append(declaration.Children, Declared{Fields: fields, Options: p.composed.options[id], Ready: child.ReadyWords})
	}
	return declaration, outcome.Done()
}
