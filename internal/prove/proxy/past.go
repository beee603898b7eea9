package proxy

import (
	"net/http"
	"net/url"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// compactedNote is recorded if an earlier state was requested that the server no longer stores.
const compactedNote = "the server has no longer the past that was to be shown: it showed the present"

// antedate changes a list that may be stale, while a view of it is frozen. The new list is at the frozen
// version, or at the requested version if that is newer.
//
// A list without a resource version is consistent: it shows the current state, regardless of what watches show. The
// same holds for a list that continues another list and has its version in the token.
func (p *Proxy) antedate(x *exchange) {
	if x.Verb != "list" {
		return
	}
	at, frozen := p.views.at(x.Resource, x.Instance)
	query := x.to.Query()
	if !frozen || !mayBeOld(query) {
		return
	}
	x.present = x.to.RawQuery
	if asked := resourceclient.Revision(query.Get("resourceVersion")); asked > 0 {
		at = max(at, asked)
	} else {
		query.Del("limit") // the API server's cache ignores the limit, too
	}
	query.Set("resourceVersion", strconv.FormatUint(at, 10))
	query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
	x.to.RawQuery = query.Encode()
}

// mayBeOld reports whether the response to a list may be a state that is neither the newest nor an exact
// version.
func mayBeOld(query url.Values) bool {
	asked, match := query.Get("resourceVersion"), query.Get("resourceVersionMatch")
	if asked == "" || query.Get("continue") != "" {
		return false
	}
	limited := query.Get("limit") != "" && query.Get("limit") != "0"
	return match == string(metav1.ResourceVersionMatchNotOlderThan) || match == "" && (asked == "0" || !limited)
}

// send forwards a request. A list of an earlier state that no longer exists becomes a list of the current state.
func (p *Proxy) send(r *http.Request) (*http.Response, error) {
	response, err := p.routes.RoundTrip(r)
	x := exchangeOf(r)
	if err != nil || x.present == "" || response.StatusCode != http.StatusGone {
		return response, err
	}
	if err := response.Body.Close(); err != nil {
		return nil, err
	}
	x.struckBy(compactedNote)
	again := r.Clone(r.Context())
	again.URL.RawQuery = x.present
	return p.routes.RoundTrip(again)
}

// sender implements http.RoundTripper with a function.
type sender func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (s sender) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

// refused returns an error for a watch that begins with a list that would have to show an earlier state: the error of an
// API server that does not support such watches. Clients then list, and start a watch from there. If the next instance
// has to see an earlier state, such watches are rejected for all instances.
func (p *Proxy) refused(x *exchange) (apierrors.APIStatus, bool) {
	if x.Verb != "watch" {
		return nil, false
	}
	query := x.to.Query()
	initial := query.Get("sendInitialEvents")
	if initial == "" {
		return nil, false
	}
	_, frozen := p.views.at(x.Resource, x.Instance)
	if !p.options.Script.Has(fault.Past) && (!frozen || query.Get("resourceVersion") == "") {
		return nil, false
	}
	asked := internalversion.ListOptions{
		Watch:                true,
		SendInitialEvents:    new(initial == "true"),
		ResourceVersion:      query.Get("resourceVersion"),
		ResourceVersionMatch: metav1.ResourceVersionMatch(query.Get("resourceVersionMatch")),
	}
	wrong := validation.ValidateListOptions(&asked, false)
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", wrong), true
}
