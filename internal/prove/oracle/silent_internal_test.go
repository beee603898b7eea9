package oracle

import (
	"testing"

	"github.com/operon-framework/operon/internal/prove/requestlog"
)

// Requests that are sent together have the same finding in each run, whichever is first and last in it.
func TestMostFrequentOfSeveralTogether(t *testing.T) {
	t.Parallel()
	list := func(resource string) requestlog.Request { return requestlog.Request{Verb: "list", Resource: resource} }
	all := []string{"services", "configmaps", "secrets"}
	for first := range all {
		var requests []requestlog.Request
		for i := range 60 + first {
			requests = append(requests, list(all[(first+i)%len(all)]))
		}
		requests = append(requests, list("events"), list("events"))
		r, times := most(requests, func(*requestlog.Request) bool { return true })
		if r.Resource != "configmaps" || times < 20 {
			t.Errorf("beginning with %s: %d of %s", all[first], times, r.Resource)
		}
	}
	if r, times := most([]requestlog.Request{list("services"), list("services"), list("configmaps")}, func(*requestlog.Request) bool { return true }); r.Resource != "services" || times != 2 {
		t.Errorf("%d of %s", times, r.Resource)
	}
}
