package runner

import (
	"slices"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
)

// An object was created without the proxy if no request in the trace can have created it.
func TestBeside(t *testing.T) {
	t.Parallel()
	began := time.Now()
	other := requestlog.Request{Seq: 1, At: began, Verb: "patch", Group: "apps", Resource: "deployments", Namespace: "one", Name: "other", Manager: "operator", After: "3", Effect: requestlog.Changed}
	apply := requestlog.Request{Seq: 2, At: began.Add(time.Second), Verb: "patch", Group: "apps", Resource: "deployments", Namespace: "one", Name: "web", Manager: "operator"}
	with := func(change func(r *requestlog.Request)) []requestlog.Request {
		r := apply
		change(&r)
		return []requestlog.Request{other, r}
	}
	for name, c := range map[string]struct {
		requests []requestlog.Request
		dropped  int64
		manager  string
		want     []string
	}{
		"no request":                      {requests: []requestlog.Request{other}, want: []string{"Deployment/web"}},
		"a request":                       {requests: with(func(r *requestlog.Request) { r.After, r.Effect = "7", requestlog.Changed })},
		"no response":                     {requests: with(func(r *requestlog.Request) { r.Effect, r.Error = requestlog.Unknown, "context canceled" })},
		"a timeout of the API server":     {requests: with(func(r *requestlog.Request) { r.Effect, r.Served = requestlog.Unknown, 504 })},
		"a rejected request":              {requests: with(func(r *requestlog.Request) { r.Effect, r.Served = requestlog.Unchanged, 409 }), want: []string{"Deployment/web"}},
		"a later request":                 {requests: with(func(r *requestlog.Request) { r.Effect, r.At = requestlog.Unknown, began.Add(time.Minute) }), want: []string{"Deployment/web"}},
		"of another object":               {requests: with(func(r *requestlog.Request) { r.Effect, r.Name = requestlog.Unknown, "db" }), want: []string{"Deployment/web"}},
		"of another kind":                 {requests: with(func(r *requestlog.Request) { r.Effect, r.Resource = requestlog.Unknown, "statefulsets" }), want: []string{"Deployment/web"}},
		"a generated name":                {requests: with(func(r *requestlog.Request) { r.Effect, r.Verb, r.Name = requestlog.Unknown, "create", "" })},
		"another program":                 {requests: []requestlog.Request{other}, manager: "kubectl"},
		"a request that was not recorded": {requests: with(func(r *requestlog.Request) { r.Name, r.At = "db", began.Add(time.Minute) })[1:], dropped: 2},
	} {
		manager := c.manager
		if manager == "" {
			manager = "operator"
		}
		trace := &runlog.Trace{Requests: c.requests, Dropped: c.dropped, Changes: []runlog.Change{{
			At: began.Add(2 * time.Second), Type: "ADDED", APIVersion: "apps/v1", Kind: "Deployment", Resource: "deployments", Namespace: "one", Name: "web", Version: "7", Manager: manager,
		}}}
		if got := beside(trace); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
