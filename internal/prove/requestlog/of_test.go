package requestlog_test

import (
	"net/http/httptest"
	"testing"

	"github.com/operon-framework/operon/internal/prove/requestlog"
)

// Each request is parsed as by the API server's authorizer.
func TestOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ method, url, want string }{
		{"GET", "/api/v1/namespaces/a/pods/p", "get|||v1|pods||a|p"},
		{"GET", "/api/v1/namespaces/a/pods", "list|||v1|pods||a|"},
		{"GET", "/api/v1/pods?watch=true&resourceVersion=7", "watch|||v1|pods|||"},
		{"GET", "/api/v1/pods?watch=0", "list|||v1|pods|||"},
		{"GET", "/api/v1/watch/namespaces/a/pods", "watch|||v1|pods||a|"},
		{"GET", "/api/v1/namespaces/a/secrets?fieldSelector=metadata.name%3Ds", "list|||v1|secrets||a|s"},
		{"GET", "/api/v1/namespaces/a/pods/p?watch=true", "get|||v1|pods||a|p"},
		{"GET", "/api/v1/namespaces/a/pods?watch=False", "list|||v1|pods||a|"},
		{"GET", "/api/v1/namespaces/a", "get|||v1|namespaces||a|a"},
		{"PUT", "/api/v1/namespaces/a/finalize", "update|me||v1|namespaces|finalize|a|a"},
		{"POST", "/apis/apps/v1/namespaces/a/deployments", "create|me|apps|v1|deployments||a|"},
		{"PATCH", "/apis/apps/v1/namespaces/a/deployments/d/scale?fieldManager=you", "patch|you|apps|v1|deployments|scale|a|d"},
		{"DELETE", "/apis/apps/v1/namespaces/a/deployments", "deletecollection|me|apps|v1|deployments||a|"},
		{"DELETE", "/apis/example.com/v1/things/t", "delete|me|example.com|v1|things|||t"},
		{"POST", "/api/v1/namespaces/a/pods/p/exec?command=ls", "create|me||v1|pods|exec|a|p"},
		{"GET", "/apis/apps/v1", "get|||||||"},
		{"GET", "/healthz", "get|||||||"},
		{"GET", "/", "get|||||||"},
	} {
		r := httptest.NewRequest(test.method, test.url, nil)
		r.Header.Set("User-Agent", "me/1.2 (linux)")
		got := requestlog.Of(r)
		all := got.Verb + "|" + got.Manager + "|" + got.Group + "|" + got.Version + "|" + got.Resource + "|" + got.Subresource + "|" + got.Namespace + "|" + got.Name
		if all != test.want {
			t.Errorf("%s %s is %s, want %s", test.method, test.url, all, test.want)
		}
	}
}

func TestSentAndAnswered(t *testing.T) {
	t.Parallel()
	r := requestlog.Of(httptest.NewRequest("POST", "/api/v1/namespaces/a/configmaps?dryRun=All", nil))
	r.ContentType = "application/json"
	r.Sent([]byte(`{"kind":"ConfigMap","metadata":{"generateName":"c-"}}`))
	r.Answered(201, "application/json", []byte(`{"kind":"ConfigMap","metadata":{"name":"c-x","resourceVersion":"8"}}`))
	if r.Name != "c-x" || r.After != "8" || r.Body == "" || !r.DryRun || r.Served != 201 {
		t.Errorf("got %+v", r)
	}
	refused := requestlog.Of(httptest.NewRequest("PUT", "/api/v1/namespaces/a/configmaps/c", nil))
	refused.ContentType = "application/json; charset=utf-8"
	refused.Sent([]byte(`{"metadata":{"name":"c","resourceVersion":"7"}}`))
	refused.Answered(409, "application/json", []byte(`{"kind":"Status","metadata":{"resourceVersion":"9"},"code":409}`))
	if refused.Asked != "7" || refused.After != "" {
		t.Errorf("got %+v", refused)
	}
}
