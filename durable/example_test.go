package durable_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/internal/testing/box"
	"github.com/operon-framework/operon/operontest"
)

// The upload fails once. It is retried a second later, and the dump is not repeated: Do returns its result.
func ExampleDo() {
	reconcile(func(ctx context.Context, _ *box.Box, run *durable.Run) error {
		dump, err := durable.Do(ctx, run, durable.Step[string]{
			Name: "dump",
			Do: func(context.Context, *durable.Attempt) (string, error) {
				fmt.Println("dump the database")
				return "db.dump", nil
			},
		})
		if err != nil {
			return err
		}
		_, err = durable.Do(ctx, run, durable.Step[bool]{
			Name: "upload",
			Do: func(_ context.Context, attempt *durable.Attempt) (bool, error) {
				fmt.Printf("upload %s, attempt %d\n", dump, attempt.Number)
				if attempt.Number == 1 {
					return false, errors.New("connection reset")
				}
				return true, nil
			},
		})
		return err
	})
	// Output:
	// dump the database
	// upload db.dump, attempt 1
	// upload db.dump, attempt 2
}

// A step that fails for good ends the run. The steps before it are undone.
func ExampleFail() {
	reconcile(func(ctx context.Context, _ *box.Box, run *durable.Run) error {
		_, err := durable.Do(ctx, run, durable.Step[string]{
			Name: "snapshot",
			Do: func(context.Context, *durable.Attempt) (string, error) {
				fmt.Println("create snapshot snap-1")
				return "snap-1", nil
			},
			Undo: func(_ context.Context, _ *durable.Attempt, snapshot string) error {
				fmt.Println("delete snapshot", snapshot)
				return nil
			},
		})
		if err != nil {
			return err
		}
		_, err = durable.Do(ctx, run, durable.Step[bool]{
			Name: "migrate",
			Do: func(context.Context, *durable.Attempt) (bool, error) {
				fmt.Println("migrate: unsupported schema")
				return false, durable.Fail(errors.New("unsupported schema"))
			},
		})
		return err
	})
	// Output:
	// create snapshot snap-1
	// migrate: unsupported schema
	// delete snapshot snap-1
}

// Each new version in the spec starts a separate run. A run that has begun finishes first.
func ExampleBegin() {
	reconcile(func(ctx context.Context, b *box.Box, run *durable.Run) error {
		version, err := durable.Begin(run, b.Spec.Data["version"])
		if err != nil {
			return err
		}
		_, err = durable.Do(ctx, run, durable.Step[bool]{
			Name: "migrate",
			Do: func(context.Context, *durable.Attempt) (bool, error) {
				fmt.Println("migrate to", version)
				return true, nil
			},
		})
		return err
	}, operontest.Edit(object(), func(b *box.Box) { b.Spec.Data["version"] = "v2" }))
	// Output:
	// migrate to v1
	// migrate to v2
}

// worker is a composer without children. In your operator, Work is a method of your composer.
type worker func(context.Context, *box.Box, *durable.Run) error

func (worker) Compose(context.Context, *box.Box, *operon.Composition) error { return nil }

func (w worker) RunWorkflow(ctx context.Context, b *box.Box, run *durable.Run) error {
	return w(ctx, b, run)
}

// reconcile runs the work in memory on a new object, and again after the changes and a minute.
func reconcile(work worker, changes ...operontest.Change) {
	_, err := operontest.New(work, box.AddToScheme).Story(context.Background(), operontest.Case[*box.Box]{
		Object: object(),
		Then:   []operontest.Step[*box.Box]{{Do: changes, Wait: time.Minute}},
	})
	if err != nil {
		panic(err)
	}
}

func object() *box.Box {
	return &box.Box{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: box.BoxSpec{Data: map[string]string{"version": "v1"}}}
}
