package runner_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/clusterwatch"
	"github.com/operon-framework/operon/internal/prove/runner"
	"github.com/operon-framework/operon/local/localtest"
)

// A run in which the API server ended a watch and a change was missed is repeated: it is not known what happened.
func TestMissedChange(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	env.InstallCRDs(t, "../../../test/testdata/boxes.yaml")
	gate := &localtest.Gate{Of: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/configmaps") }}
	witness, err := clusterwatch.Start(t.Context(), gate.Config(env.Config))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(witness.Close)
	var starts atomic.Int32
	operator := func(ctx context.Context, access runner.Access) error {
		if starts.Add(1) == 1 {
			direct, err := client.New(env.Config, client.Options{})
			if err != nil {
				return err
			}
			gate.Shut()
			hidden := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: access.Namespace, Name: "hidden"}}
			if err := direct.Create(ctx, hidden); err != nil {
				return err
			}
			gate.Cut(true)
			gate.Open()
		}
		return boxOperator{}.run(ctx, access)
	}
	seen := carry(t, openStage(t, runner.Settings{Config: env.Config, Witness: witness, Operator: runner.Function(operator)}), life)
	if got := starts.Load(); got != 2 {
		t.Errorf("the operator was started %d times", got)
	}
	checkLife(t, seen)
}
