package report_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/report"
)

func TestWords(t *testing.T) {
	t.Parallel()
	create := fault.Match{Verb: "create", Resource: "configmaps", Name: "demo", Nth: 1, Times: 1}
	status := fault.Match{Verb: "patch", Resource: "boxes/status", Name: "demo", Nth: 3, Times: 1}
	for _, c := range []struct {
		fault       fault.Fault
		want, class string
	}{
		{fault.Fault{Kind: fault.Kill, Moment: fault.Effect, On: create},
			"killed after `create configmaps/demo` took effect, before it received the response", "kill after effect"},
		{fault.Fault{Kind: fault.Kill, On: create}, "killed before `create configmaps/demo` reached the API server", "kill before request"},
		{fault.Fault{Kind: fault.Kill, Moment: fault.Answer, On: status}, "killed right after the response to the 3rd `patch boxes/demo (status)`", "kill after answer"},
		{fault.Fault{Kind: fault.Kill, On: fault.Match{Verb: "create", Resource: "pods", Nth: 2, Step: "size: 5"}},
			"killed before the 2nd `create pods` in the step \"size: 5\" reached the API server", "kill before request"},
		{fault.Fault{Kind: fault.Cut, Moment: fault.Effect, On: create},
			"the connection was cut after `create configmaps/demo` took effect, before it received the response", "cut after effect"},
		{fault.Fault{Kind: fault.Conflict, On: status}, "the 3rd `patch boxes/demo (status)` was rejected with 409 Conflict", "conflict"},
		{fault.Fault{Kind: fault.AlreadyExists, Moment: fault.Effect, On: create},
			"`create configmaps/demo` took effect, but the response was 409 Already Exists", "already-exists after effect"},
		{fault.Fault{Kind: fault.TimeOut, Moment: fault.Effect, On: create},
			"`create configmaps/demo` took effect, but the response was 504 Gateway Timeout", "time-out after effect"},
		{fault.Fault{Kind: fault.Throttle, RetryAfter: 2, On: fault.Match{Verb: "list", Resource: "pods", Nth: 1, Times: 3}},
			"the 1st to the 3rd `list pods` was rejected with 429 Too Many Requests, retry after 2s", "throttle"},
		{fault.Fault{Kind: fault.Unavailable, On: fault.Match{Nth: 12, Times: fault.Always}},
			"each `any request for any object` from the 12th on was rejected with 503 Service Unavailable", "unavailable"},
		{fault.Fault{Kind: fault.ServerError, On: fault.Match{Verb: "get", Resource: "boxes/*", Times: fault.Always}},
			"each `get boxes` was rejected with 500 Internal Server Error", "server-error"},
		{fault.Fault{Kind: fault.Delay, For: metav1.Duration{Duration: 2 * time.Second}, On: create}, "`create configmaps/demo` was delayed by 2s", "delay"},
		{fault.Fault{Kind: fault.Delay, Moment: fault.Effect, For: metav1.Duration{Duration: 2 * time.Second}, On: create},
			"the response to `create configmaps/demo` was delayed by 2s", "delay after effect"},
		{fault.Fault{Kind: fault.CutWatch, Events: 1, On: fault.Match{Verb: "watch", Resource: "boxes", Nth: 2}}, "the 2nd `watch boxes` was cut after 1 event", "watch cut"},
		{fault.Fault{Kind: fault.Kill, On: fault.Match{Verb: fault.Event, Type: "MODIFIED", Resource: "pods", Name: "a"}},
			"killed before it saw the 1st change of `pods/a`", "kill before event"},
		{fault.Fault{Kind: fault.Delay, For: metav1.Duration{Duration: time.Second}, On: fault.Match{Verb: fault.Event, Resource: "pods", Nth: 2}},
			"the 2nd event of `pods` was delivered 1s late", "delay before event"},
		{fault.Fault{Kind: fault.Hold, Moment: fault.Effect, View: "configmaps", On: create},
			"its cache of `configmaps` was stale for a while, starting after `create configmaps/demo` took effect, before it received the response", "stale cache"},
		{fault.Fault{Kind: fault.Skip, On: fault.Match{Verb: fault.Event, Type: "DELETED", Resource: "pods"}},
			"its cache of all resources was stale for a while, starting before it saw the 1st deletion of `pods`, and it missed the events in between", "missed events"},
		{fault.Fault{Kind: fault.Relist, View: "pods", On: create},
			"its watch of `pods` ended with 410 Gone before `create configmaps/demo` reached the API server, so it had to list again", "watch ends with 410"},
		{fault.Fault{Kind: fault.Past, Moment: fault.Answer, On: create, Back: 1},
			"killed right after the response to `create configmaps/demo`, and the next instance saw the state of all resources before its last write", "time travel"},
		{fault.Fault{Kind: fault.Past, Moment: fault.Answer, On: create, To: fault.Match{Verb: "update", Resource: "boxes", Name: "demo"}},
			"killed right after the response to `create configmaps/demo`, and the next instance saw the state of all resources before `update boxes/demo`", "time travel"},
		{fault.Fault{Kind: fault.Past, Moment: fault.Answer, View: "pods", On: create, Step: "create"},
			"killed right after the response to `create configmaps/demo`, and the next instance saw the state of `pods` after the step \"create\"", "time travel"},
		{fault.Fault{Kind: fault.Past, Moment: fault.Answer, On: create, Back: 3},
			"killed right after the response to `create configmaps/demo`, and the next instance saw the state of all resources before its last 3 writes", "time travel"},
		{fault.Fault{Kind: fault.Outage, On: create}, "the API server was unavailable for 1s, starting before `create configmaps/demo` reached the API server", "API server unavailable"},
		{fault.Fault{Kind: fault.Expire, On: create},
			"its token was rejected as expired for 1s, starting before `create configmaps/demo` reached the API server", "token expired"},
		{fault.Fault{Kind: fault.Overlap, On: status}, "a second instance started before the 3rd `patch boxes/demo (status)` reached the API server", "two instances"},
		{fault.Fault{Kind: fault.LoseLease, On: status},
			"another holder had its lease for 15s, starting before the 3rd `patch boxes/demo (status)` reached the API server", "lease lost"},
		{fault.Fault{Kind: "flood", On: fault.Match{Verb: "watch", Resource: "boxes", Nth: 2}}, "flood on watch boxes #2", "flood"},
	} {
		if got := report.Words(c.fault); got != c.want {
			t.Errorf("%v is\n%q, want\n%q", c.fault, got, c.want)
		}
		if got := report.FaultClass([]fault.Fault{c.fault}); got != c.class {
			t.Errorf("%v is of the class %q, want %q", c.fault, got, c.class)
		}
	}
	two := []fault.Fault{{Kind: "hold"}, {Kind: fault.Kill, Moment: fault.Answer}, {Kind: "hold"}}
	if got := report.FaultClass(two); got != "stale cache, kill after answer" {
		t.Errorf("two faults are of the class %q", got)
	}
	if got := report.FaultClass(nil); got != "no fault" {
		t.Errorf("none is of the class %q", got)
	}
}

func TestReplayCommand(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"prove/01.plan.yaml": "operon prove --replay prove/01.plan.yaml",
		"a b.yaml":           "operon prove --replay 'a b.yaml'",
		"it's $(x).yaml":     `operon prove --replay 'it'\''s $(x).yaml'`,
	} {
		if got := report.ReplayCommand(file); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
