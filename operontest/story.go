package operontest

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/condition"
)

// Story runs a case without a cluster and returns what happened in each of its steps, without checking
// expectations: a quick way to see what an operator does, and what to write in an Expect.
func (o *Operator[T]) Story(ctx context.Context, c Case[T]) (string, error) {
	w, err := o.newWorld(ctx, logr.Discard(), c)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i, step := range c.steps() {
		if err := w.play(ctx, step); err != nil {
			return "", fmt.Errorf("%s: %w", step.title(i), err)
		}
		seen, err := w.take(ctx)
		if err != nil {
			return "", fmt.Errorf("%s: %w", step.title(i), err)
		}
		fmt.Fprintf(&b, "%s\n", step.title(i))
		seen.tell(&b)
	}
	return b.String(), nil
}

// tell writes what happened, one line for each event.
func (s seen[T]) tell(b *strings.Builder) {
	for _, write := range s.writes {
		fmt.Fprintf(b, "  write %s\n", write)
	}
	for _, event := range s.events {
		fmt.Fprintf(b, "  event %s\n", event)
	}
	if len(s.states) == 0 {
		fmt.Fprintf(b, "  gone\n")
	}
	for _, object := range s.states {
		fmt.Fprintf(b, "  %s\n", readiness(object))
	}
}

// readiness returns the Ready condition as text.
func readiness(object client.Object) string {
	all, err := condition.Of(object)
	if err != nil {
		return "exists" // a kind that is managed without status
	}
	ready := all.Ready()
	if ready.Type == "" {
		return "no Ready condition"
	}
	return fmt.Sprintf("Ready=%s %s: %s", ready.Status, ready.Reason, ready.Message)
}
