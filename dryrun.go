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

// PreviewAction is what would be done to a child.
type PreviewAction = report.PreviewAction

// errDryRun is the answer to a write that is tried in a dry run.
var errDryRun = errors.New("this is a dry run: nothing is written")

// ownRights is where the API server is asked what one may do. Nothing is stored of that.
const ownRights = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

// readOnly lets only those requests through that change nothing: reads, questions for one's own
// rights, and writes that are dry runs for the API server too. Nothing in the process can write then, be it a composer, a
// reconciler of Setup or the recorder of events.
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
