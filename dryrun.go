package operon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/operon-framework/operon/internal/runtime/report"
)

// Preview lists the actions that a dry run would execute for an object: its Kind, Namespace and Name, the Actions, and the Reason and
// Message of what prevents the object from becoming ready. String returns a line for each.
type Preview = report.Preview

// PreviewAction is an action that would be executed on a child or an external resource: the Verb, the Kind, Group, Namespace and Name, the
// Fields whose drift would be reverted, and Why.
type PreviewAction = report.PreviewAction

// errDryRun is the error for a write during a dry run.
var errDryRun = errors.New("dry run: nothing is written")

// ownRights is the path for reviews of the operator's own permissions, which store nothing.
const ownRights = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

// readOnly forwards only requests that change nothing: reads, reviews of the operator's own permissions, and server-side dry runs.
// Therefore nothing in the process can write: no composer, no reconciler added by Setup, no event recorder.
func readOnly(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead || strings.HasSuffix(r.URL.Path, ownRights)
		if reads || r.URL.Query().Get("dryRun") == "All" {
			return next.RoundTrip(r)
		}
		return nil, errDryRun
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// preview returns a function that prints the plans of a dry run, or nil without a dry run.
func (f *flags) preview(to io.Writer) (func(Preview), error) {
	if f.output != "text" && f.output != "json" {
		return nil, fmt.Errorf("-o %q: want text or json", f.output)
	}
	if !f.dryRun {
		return nil, nil
	}
	var mu sync.Mutex
	return func(p Preview) {
		mu.Lock()
		defer mu.Unlock()
		if f.output == "json" {
			// A Preview contains only strings, which can always be encoded. A closed pipe ends the process.
			_ = json.NewEncoder(to).Encode(p)
			return
		}
		fmt.Fprintln(to, p)
	}, nil
}
