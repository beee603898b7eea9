package runner_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/clusterwatch"
	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/runner"
	"github.com/operon-framework/operon/local/localtest"
)

// An operator that has not received a change is silent. This does not end the step.
func TestSilenceOfWhoHasNotHeard(t *testing.T) {
	t.Parallel()
	gate := &localtest.Gate{}
	stage := newStageBehind(t, gate, runner.Function(boxOperator{}.run))
	stop := slow(gate, 2*quick.Unsure)
	defer stop()
	checkLife(t, carry(t, stage, life))
}

// The step does not end while the witness still has to see the changes by the step.
func TestSilenceBeforeItIsSeen(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	env.InstallCRDs(t, "../../../test/testdata/boxes.yaml")
	// Other requests are not delayed, so that the cluster is not considered slow.
	gate := &localtest.Gate{Of: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/boxes") }}
	seer, err := clusterwatch.Start(t.Context(), gate.Config(env.Config))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(seer.Close)
	stage := openStage(t, runner.Settings{Config: env.Config, Witness: seer, Operator: runner.Function(boxOperator{}.run)})
	stop := slow(gate, 2*quick.Unsure)
	defer stop()
	checkLife(t, carry(t, stage, life))
}

// How long an operator was silent with an old view does not count: it reacts only when it sees the present.
func TestSilenceWithAnOldView(t *testing.T) {
	t.Parallel()
	thinks := func() error {
		<-time.After(quick.Unsure / 2) // an operator that sends no request for a moment
		return nil
	}
	seen := carry(t, newStage(t, runner.Function(boxOperator{before: thinks}.run)), life, fault.Fault{
		Kind: fault.Hold, View: "boxes", Quiet: metav1.Duration{Duration: 2 * quick.Unsure}, For: metav1.Duration{Duration: quick.Patience},
		On: fault.Match{Verb: fault.Event, Group: boxKind.Group, Resource: "boxes", Type: "MODIFIED", Step: "change", Nth: 1},
	})
	if len(seen.Struck) != 1 {
		t.Errorf("the fault was injected %d times", len(seen.Struck))
	}
	checkLife(t, seen)
}

// An operator that waits for its lease is silent, and does not work yet. This does not end the step.
func TestSilenceWithoutALease(t *testing.T) {
	t.Parallel()
	elects := func(ctx context.Context, access runner.Access) error {
		direct, err := client.New(access.Config, client.Options{})
		if err != nil {
			return err
		}
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: access.Namespace, Name: "box"}}
		if err := direct.Get(ctx, client.ObjectKeyFromObject(lease), lease); !apierrors.IsNotFound(err) {
			return fmt.Errorf("there is a lease already: %w", err)
		}
		<-time.After(3 * quick.Unsure) // the time between two attempts to acquire it
		if err := direct.Create(ctx, lease); err != nil {
			return err
		}
		return boxOperator{}.run(ctx, access)
	}
	checkLife(t, carry(t, newStage(t, runner.Function(elects)), life))
}

// slow delays watches: their events pass only from time to time.
func slow(gate *localtest.Gate, while time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for ctx.Err() == nil {
			gate.Shut()
			select {
			case <-time.After(while): // events are delayed for this time
			case <-ctx.Done():
			}
			gate.Open()
			select {
			case <-time.After(while / 10):
			case <-ctx.Done():
			}
		}
	}()
	return cancel
}
