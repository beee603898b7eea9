package runner_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runner"
	"github.com/operon-framework/operon/internal/prove/workload"
	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/local/localtest"
)

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// newStageThrough returns a stage whose requests, and those of an operator without its own permissions, pass through send.
func newStageThrough(t *testing.T, send func(next http.RoundTripper, r *http.Request) (*http.Response, error), settings runner.Settings) *runner.Stage {
	t.Helper()
	settings.Config, settings.Witness = rest.CopyConfig(localtest.Shared(t).Config), witness(t)
	settings.Config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) { return send(next, r) })
	})
	return openStage(t, settings)
}

// lost sends a request, and loses its response.
func lost(next http.RoundTripper, r *http.Request) error {
	response, err := next.RoundTrip(r)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	return syscall.ECONNRESET
}

// administrator grants an operator, which then has its own identity, all permissions.
var administrator = []project.Grant{{Kind: "ClusterRole", Name: "cluster-admin", Scope: project.ClusterScope}}

// A session survives the loss of the first response to each of its requests.
func TestLifeWithLostResponses(t *testing.T) {
	t.Parallel()
	var seen sync.Map
	send := func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		if _, again := seen.LoadOrStore(r.Method+" "+r.URL.Path, true); again {
			return next.RoundTrip(r)
		}
		return nil, lost(next, r)
	}
	operator := runner.Function(func(ctx context.Context, access runner.Access) error {
		if err := writeUnwatched(ctx, access); err != nil {
			return err
		}
		return boxOperator{}.run(ctx, access)
	})
	stage := newStageThrough(t, send, runner.Settings{Operator: operator, Grants: administrator})
	trace := carry(t, stage, life, fault.Fault{Kind: fault.Kill, Moment: fault.Effect, On: fault.Match{Verb: "create", Resource: "configmaps"}})
	checkLife(t, trace)
	for _, r := range trace.Requests {
		if r.IsWrite() && r.Effect == requestlog.Unknown && !r.IsBeside() {
			t.Errorf("the effect of %s is not known", r.String())
		}
	}
}

// writeUnwatched changes an object that the witness does not watch, so that the proxy has to read its version.
func writeUnwatched(ctx context.Context, access runner.Access) error {
	api, err := kubernetes.NewForConfig(access.Config)
	if err != nil {
		return err
	}
	endpoints := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: "unwatched"}} //nolint:staticcheck // it is deprecated, and the only such kind
	if _, err := api.CoreV1().Endpoints(access.Namespace).Create(ctx, endpoints, metav1.CreateOptions{}); err != nil {
		return client.IgnoreAlreadyExists(err) // the instance was started again
	}
	patch := []byte(`{"metadata": {"labels": {"a": "b"}}}`)
	_, err = api.CoreV1().Endpoints(access.Namespace).Patch(ctx, endpoints.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// If the response to a deletion is lost and the operator creates the object again, the repeated deletion does not delete it.
func TestDriftWithALostResponse(t *testing.T) {
	t.Parallel()
	api := kubernetes.NewForConfigOrDie(localtest.Shared(t).Config).CoreV1()
	var recreated atomic.Value
	send := func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		of := requestlog.Of(r)
		if of.Verb != "delete" || of.Resource != "configmaps" || recreated.Load() != nil {
			return next.RoundTrip(r)
		}
		before, err := api.ConfigMaps(of.Namespace).Get(r.Context(), of.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		problem := lost(next, r)
		err = wait.PollUntilContextCancel(r.Context(), 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			now, err := api.ConfigMaps(of.Namespace).Get(ctx, of.Name, metav1.GetOptions{})
			if err != nil || now.UID == before.UID {
				return false, nil
			}
			recreated.Store(now.UID)
			return true, nil
		})
		if err != nil {
			return nil, err
		}
		return nil, problem
	}
	stage := newStageThrough(t, send, runner.Settings{Operator: runner.Function(boxOperator{}.run)})
	drift := workload.Step{Name: "drift", Drift: &workload.Drift{Of: workload.Ref{APIVersion: "v1", Kind: "ConfigMap", Name: "one"}}}
	seen := carry(t, stage, workload.Workload{Steps: []workload.Step{life.Steps[0], drift}})
	if len(seen.Steps) != 2 || !seen.Steps[1].Silent {
		t.Fatalf("the steps are %+v", seen.Steps)
	}
	if child := found(seen.Steps[1].State, "ConfigMap"); child == nil || child.GetUID() != recreated.Load() {
		t.Errorf("created again was %v, and there is %+v", recreated.Load(), child)
	}
}

// If the response to a patch that releases a lease is lost and another instance acquires it, the repeated patch does not release it.
func TestLeaseWithALostResponse(t *testing.T) {
	t.Parallel()
	api := kubernetes.NewForConfigOrDie(localtest.Shared(t).Config).CoordinationV1()
	var acquired atomic.Bool
	send := func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		of := requestlog.Of(r)
		if of.Verb != "patch" || of.Resource != "leases" || acquired.Swap(true) {
			return next.RoundTrip(r)
		}
		problem := lost(next, r)
		_, err := api.Leases(of.Namespace).Patch(r.Context(), of.Name, types.MergePatchType, []byte(`{"spec": {"holderIdentity": "second"}}`), metav1.PatchOptions{})
		if err != nil {
			return nil, err
		}
		return nil, problem
	}
	findsLeases(t, func(operator runner.Operator) *runner.Stage {
		return newStageThrough(t, send, runner.Settings{Operator: operator})
	},
		"leader held by \"second\", record of boxes held by \"\", ")
}

// A failed request of the operator is not repeated, also if the operator has the permissions of the session.
func TestFailedRequestOfTheOperator(t *testing.T) {
	t.Parallel()
	var arrived atomic.Int32
	send := func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		if requestlog.Of(r).Name != "asked" {
			return next.RoundTrip(r)
		}
		arrived.Add(1)
		body := `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"etcdserver: leader changed","code":500}`
		return &http.Response{
			Status: "500 Internal Server Error", StatusCode: http.StatusInternalServerError, Proto: r.Proto, Request: r,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
		}, nil
	}
	stage := newStageThrough(t, send, runner.Settings{Operator: runner.Function(func(ctx context.Context, access runner.Access) error {
		api := kubernetes.NewForConfigOrDie(access.Config).CoreV1()
		if _, err := api.ConfigMaps(access.Namespace).Get(ctx, "asked", metav1.GetOptions{}); err == nil || !strings.Contains(err.Error(), "leader changed") {
			return fmt.Errorf("the operator gets %w", err)
		}
		return boxOperator{}.run(ctx, access)
	})})
	seen := carry(t, stage, life)
	checkLife(t, seen)
	recorded := slices.DeleteFunc(slices.Clone(seen.Requests), func(r requestlog.Request) bool { return r.Name != "asked" })
	if arrived.Load() != 1 || len(recorded) != 1 || recorded[0].Served != http.StatusInternalServerError {
		t.Errorf("%d arrived, recorded are %+v", arrived.Load(), recorded)
	}
}
