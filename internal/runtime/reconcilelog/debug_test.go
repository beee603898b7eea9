package reconcilelog_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/core/trigger"
	"github.com/operon-framework/operon/internal/runtime/reconcilelog"
	"github.com/operon-framework/operon/internal/testing/boxtest"
	"github.com/operon-framework/operon/internal/testing/testaid"
)

// An operator serves what it did with an object and why, with its probes.
func TestOperatorAnswersWhatItDid(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	address := testaid.FreeAddress(t)
	own := operon.Setup(func(m ctrl.Manager) error {
		return m.AddReadyzCheck("own", func(*http.Request) error { return errors.New("not yet") })
	})
	w.RunWith(w.Config, operon.Config{Namespace: w.Namespace, HealthProbeBindAddress: address},
		operon.API(boxtest.AddToScheme), operon.Manage(boxtest.ComposeFunc(boxtest.Copies)), own)
	w.IsReady(w.Box("told", map[string]string{"a": "1"}))
	w.Eventually("the pass that created the child", func(ctx context.Context) error {
		object, err := reconcilelog.AskObject(ctx, address, "box", w.Namespace, "told")
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(object.Passes, created) {
			return fmt.Errorf("there is %+v", object)
		}
		return nil
	})
	for path, want := range map[string]string{"/healthz": "ok", "/readyz?verbose": "[-]own failed", "/healthz/ping": "ok"} {
		answer, err := http.Get("http://" + address + path)
		w.Must(err)
		body, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if !strings.Contains(string(body), want) {
			t.Errorf("%s answers %d %s", path, answer.StatusCode, body)
		}
	}
	operator, err := reconcilelog.AskOperator(t.Context(), address)
	if err != nil || operator.Name != "box-operator" || operator.Kinds[0].Kind != "Box" || operator.Server != w.Config.Host {
		t.Errorf("operator %+v, error %v", operator, err)
	}
}

// created reports whether all parts of a reconcile are reported.
func created(p reconcilelog.Pass) bool {
	first := trigger.Created
	if len(p.Causes) > 0 && p.Causes[0].Kind == trigger.OperatorStarted {
		first = trigger.OperatorStarted
	}
	applied := slices.ContainsFunc(p.Steps, func(s reconcilelog.Step) bool { return s.Name == "apply" && s.Took > 0 && s.Outcome == "done" })
	return len(p.Causes) > 0 && p.Causes[0].Kind == first && applied && p.Took > 0 && p.Writes == 2 &&
		len(p.Actions) == 1 && p.Actions[0].Verb == "create" && p.Actions[0].Object.Name == "told" && p.Outcome == "done"
}
