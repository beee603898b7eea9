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

// Preview is what a dry run would do for an object.
type Preview struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Actions are in the order in which they would be executed. There are none if everything is as declared.
	Actions []PreviewAction `json:"actions"`
	// Reason and Message state what prevents the object from becoming ready, as its Ready
	// condition would. They are empty if nothing does.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// PreviewAction is what would be done to a child or to an external resource.
type PreviewAction struct {
	// Verb is create, update, repair, recreate, replace, adopt, release, delete, conflict or wait.
	Verb      string `json:"verb"`
	Kind      string `json:"kind"`
	Group     string `json:"group,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Fields are those whose drift would be reverted.
	Fields []string `json:"fields,omitempty"`
	// Why is the reason, for people.
	Why string `json:"why,omitempty"`
}

// String returns a line for each action, and one for what prevents the object from becoming ready.
func (p Preview) String() string {
	return report.Preview{
		Kind: p.Kind, Namespace: p.Namespace, Name: p.Name, Actions: convertAll[report.PreviewAction](p.Actions), Reason: p.Reason, Message: p.Message,
	}.String()
}

// showing adapts what shows a Preview; nil stays nil.
func showing(show func(Preview)) func(report.Preview) {
	if show == nil {
		return nil
	}
	return func(p report.Preview) {
		show(Preview{p.Kind, p.Namespace, p.Name, convertAll[PreviewAction](p.Actions), p.Reason, p.Message})
	}
}

// convertAll converts actions of one of the two types into the other.
func convertAll[To, From PreviewAction | report.PreviewAction](all []From) []To {
	var converted []To
	for _, one := range all {
		converted = append(converted, To(one))
	}
	return converted
}

// errDryRun is the answer to a write that is tried in a dry run.
var errDryRun = errors.New("dry run: nothing is written")

// ownRights is where the API server is asked what one may do. Nothing is stored of that.
const ownRights = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

// readOnly passes only requests that change nothing: reads, reviews of the operator's own permissions, and writes that are dry
// runs for the API server, too. Then nothing in the process can write: no composer, no reconciler of Setup, no recorder of
// events.
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

// preview returns what prints the plans of a dry run, nil where there is none.
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
			// A Preview consists of texts, which can be encoded; a closed pipe ends the process.
			_ = json.NewEncoder(to).Encode(p)
			return
		}
		fmt.Fprintln(to, p)
	}, nil
}
