package runner

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
)

// beside returns the objects that the operator's field managers created without the proxy. An object counts only if none of the
// recorded requests can have created it.
func beside(trace *runlog.Trace) []string {
	managers, passed := map[string]bool{}, map[string]bool{}
	var unsure []*requestlog.Request
	for i := range trace.Requests {
		r := &trace.Requests[i]
		if r.IsWrite() && r.Manager != "" {
			managers[r.Manager] = true
		}
		passed[r.After] = true
		if r.IsWrite() && r.After == "" {
			unsure = append(unsure, r)
		}
	}
	var since time.Time // since then, all requests are in the trace
	if trace.Dropped > 0 && len(trace.Requests) > 0 {
		since = trace.Requests[0].At
	}
	var all []string
	for i := range trace.Changes {
		change := &trace.Changes[i]
		if !managers[change.Manager] || change.Type != "ADDED" || passed[change.Version] || strings.HasPrefix(change.Manager, "kube-") {
			continue
		}
		if !change.At.Before(since) && !mayHaveCreated(unsure, change) {
			all = append(all, change.Kind+"/"+change.Name)
		}
	}
	return all
}

// mayHaveCreated reports whether one of the writes whose result is not known can have created an object: the connection to the API server ended
// before the response, or the API server wrote the object and responded with an error, such as a timeout.
func mayHaveCreated(unsure []*requestlog.Request, change *runlog.Change) bool {
	group, err := schema.ParseGroupVersion(change.APIVersion)
	if err != nil {
		return false
	}
	for _, r := range unsure {
		if r.Group == group.Group && r.Resource == change.Resource && r.Namespace == change.Namespace &&
			(r.Name == change.Name || r.Name == "") && r.Effect != requestlog.Unchanged && r.At.Before(change.At) {
			return true
		}
	}
	return false
}
