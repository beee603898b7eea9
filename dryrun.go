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

// Preview lists the actions that a dry run would execute for an object.
type Preview struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Actions are in the order in which they would be executed. It is empty if everything is as declared.
	Actions []PreviewAction `json:"actions"`
	// Reason and Message state what prevents the object from becoming ready, as its Ready condition would. They are
	// empty if nothing prevents it.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// PreviewAction is an action that would be executed on a child or an external resource.
type PreviewAction struct {
	// Verb is create, update, repair, recreate, replace, adopt, release, delete, conflict or wait.
	Verb      string `json:"verb"`
	Kind      string `json:"kind"`
	Group     string `json:"group,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Fields are those whose drift would be reverted.
	Fields []string `json:"fields,omitempty"`
	// Why is the reason, in words.
	Why string `json:"why,omitempty"`
}

// String returns a line for each action, and one for what prevents the object from becoming ready.
func (p Preview) String() string {
	return report.Preview{
		Kind: p.Kind, Namespace: p.Namespace, Name: p.Name, Actions: convertAll[report.PreviewAction](p.Actions), Reason: p.Reason, Message: p.Message,
	}.String()
}

// showing adapts a function that shows a Preview. It returns nil for nil.
func showing(show func(Preview)) func(report.Preview) {
	if show == nil {
		return nil
	}
	return func(p report.Preview) {
		show(Preview{p.Kind, p.Namespace, p.Name, convertAll[PreviewAction](p.Actions), p.Reason, p.Message})
	}
}

// convertAll converts actions between the two types.
func convertAll[To, From PreviewAction | report.PreviewAction](all []From) []To {
	var converted []To
	for _, one := range all {
		converted = append(converted, To(one))
	}
	return converted
}

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
