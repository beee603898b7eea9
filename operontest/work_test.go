package operontest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/internal/testing/box"
	"github.com/operon-framework/operon/operontest"
)

// packer is a composer with a workflow. Its second step fails once.
type packer struct{}

func (packer) Compose(context.Context, *box.Box, *operon.Composition) error { return nil }

func (packer) RunWorkflow(ctx context.Context, _ *box.Box, run *durable.Run) error {
	for _, name := range []string{"wrap", "send"} {
		_, err := durable.Do(ctx, run, durable.Step[string]{
			Name: name,
			Do: func(_ context.Context, a *durable.Attempt) (string, error) {
				if name == "send" && a.Number == 1 {
					return "", errors.New("the post is closed")
				}
				return name, nil
			},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// A workflow is tested like everything else: without a cluster, and without waiting.
func TestWorkInSteps(t *testing.T) {
	t.Parallel()
	phase := func(want journal.Phase) func(*box.Box) error {
		return func(b *box.Box) error {
			if b.Status.Journal == nil || b.Status.Journal.Phase != want {
				return fmt.Errorf("the journal is %+v, want %s", b.Status.Journal, want)
			}
			return nil
		}
	}
	const status = "status Box one"
	operontest.New(packer{}, box.AddToScheme).RunOne(t, operontest.Case[*box.Box]{
		Object: &box.Box{ObjectMeta: metav1.ObjectMeta{Name: "one"}},
		Expect: operontest.Expect[*box.Box]{
			Writes:     []string{status, status, status},
			Events:     []string{"StepRetrying"},
			Conditions: []string{"Ready=False StepRetrying: step send: the post is closed"},
			Status:     phase(journal.Running),
		},
		Then: []operontest.Step[*box.Box]{{
			Wait: 2 * time.Second,
			Expect: operontest.Expect[*box.Box]{
				Writes: []string{status, status}, Events: []string{"Ready"}, Conditions: []string{"Ready=True"}, Status: phase(journal.Succeeded),
			},
		}, {Wait: time.Hour}},
	})
}
