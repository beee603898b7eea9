package boxtest

import (
	"context"
	"slices"
	"sync"

	"github.com/operon-framework/operon/durable"
)

// Record records the executed steps.
type Record struct {
	mu   sync.Mutex
	done []string
}

// All returns the executed steps, in order.
func (d *Record) All() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.done)
}

func (d *Record) add(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done = append(d.done, what)
}

// Step returns a step that records its execution.
func (d *Record) Step(name string, then func(context.Context, *durable.Attempt) error) durable.Step[string] {
	return durable.Step[string]{
		Name: name,
		Do: func(ctx context.Context, a *durable.Attempt) (string, error) {
			if then != nil {
				if err := then(ctx, a); err != nil {
					return "", err
				}
			}
			d.add("do " + name)
			return name, nil
		},
		Undo: func(context.Context, *durable.Attempt, string) error {
			d.add("undo " + name)
			return nil
		},
	}
}

// DoAll executes steps in order.
func DoAll[T any](ctx context.Context, run *durable.Run, all ...durable.Step[T]) error {
	for _, step := range all {
		if _, err := durable.Do(ctx, run, step); err != nil {
			return err
		}
	}
	return nil
}
