package telemetry

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

func TestNamesOfRequestsHaveNoNamesOfObjects(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/api/v1/namespaces/web/pods/nginx-1/log":                     "pods/log",
		"/api/v1/namespaces/web":                                      "namespaces",
		"/api/v1/nodes/one":                                           "nodes",
		"/apis/apps/v1/namespaces/web/deployments/nginx":              "deployments",
		"/apis/cache.example.com/v1/namespaces/a/memcacheds/b/status": "memcacheds/status",
		"/apis/rbac.authorization.k8s.io/v1/clusterroles/x":           "clusterroles",
		"/apis/apps/v1": "api",
		"/version":      "api",
	} {
		if got := resourceOf(path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}

func TestOffCostsNothing(t *testing.T) {
	var off *Tracer
	ctx := t.Context()
	allocated := testing.AllocsPerRun(100, func() {
		inner, span := off.Step(ctx, "compose")
		span.End("done", "", nil)
		if inner != ctx {
			t.Error("the context changed")
		}
	})
	if allocated > 0 {
		t.Errorf("%v allocations a step", allocated)
	}
	if off.Wrap(http.DefaultTransport) != http.DefaultTransport {
		t.Error("requests go a detour")
	}
	if provider, err := FromEnvironment(ctx, "x"); provider != nil || err != nil {
		t.Errorf("without variables there is %v, error %v", provider, err)
	}
}

// receiver receives OTLP over HTTP; it answers the first requests as busy.
type receiver struct {
	busy int

	mu      sync.Mutex
	headers []http.Header
	spans   []string
	service string
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.headers = append(r.headers, request.Header)
	if len(r.headers) <= r.busy {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	body := io.Reader(request.Body)
	if request.Header.Get("Content-Encoding") == "gzip" {
		zipped, err := gzip.NewReader(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = zipped
	}
	data, _ := io.ReadAll(body)
	var traces tracepb.TracesData
	if err := proto.Unmarshal(data, &traces); err != nil || request.URL.Path != "/v1/traces" {
		http.Error(w, "no spans", http.StatusBadRequest)
		return
	}
	for _, group := range traces.ResourceSpans {
		for _, attr := range group.Resource.Attributes {
			if attr.Key == "service.name" {
				r.service = attr.Value.GetStringValue()
			}
		}
		for _, scope := range group.ScopeSpans {
			for _, span := range scope.Spans {
				r.spans = append(r.spans, span.Name)
			}
		}
	}
}

func TestSpansAreExportedAsTheEnvironmentSays(t *testing.T) {
	got := &receiver{busy: 1}
	server := httptest.NewServer(got)
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL+"/")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc, other=1")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	provider, err := FromEnvironment(t.Context(), "box-operator")
	if err != nil {
		t.Fatal(err)
	}
	ctx, span := NewTracer(provider).Reconcile(t.Context(), "Box", "default", "one", []string{"created"})
	_, step := NewTracer(provider).Step(ctx, "compose")
	step.End("done", "", nil)
	span.End("done", "", nil)
	if err := provider.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(got.spans, ","); all != "compose,reconcile Box" || got.service != "box-operator" {
		t.Errorf("spans %q of service %q", all, got.service)
	}
	if n := len(got.headers); n != 2 {
		t.Errorf("%d requests, want one that is refused as busy and another", n)
	}
	if auth := got.headers[0].Get("Authorization"); auth != "Bearer abc" {
		t.Errorf("authorization %q", auth)
	}
}

func TestMistakesInTheEnvironmentAreNamed(t *testing.T) {
	for variable, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_PROTOCOL":        "grpc",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "collector",
		"OTEL_EXPORTER_OTLP_HEADERS":         "secret",
		"OTEL_EXPORTER_OTLP_TIMEOUT":         "soon",
		"OTEL_EXPORTER_OTLP_COMPRESSION":     "zstd",
		"OTEL_EXPORTER_OTLP_CERTIFICATE":     "/nowhere",
		"OTEL_RESOURCE_ATTRIBUTES":           "%",
	} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
			t.Setenv(variable, value)
			_, err := FromEnvironment(t.Context(), "x")
			if err == nil || !strings.Contains(err.Error(), strings.Replace(variable, "_TRACES", "", 1)) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestRejectedSpansAreAnError(t *testing.T) {
	t.Parallel()
	partial := protowire.AppendTag(nil, 1, protowire.VarintType)
	partial = protowire.AppendVarint(partial, 3)
	partial = protowire.AppendTag(partial, 2, protowire.BytesType)
	partial = protowire.AppendString(partial, "too many")
	answer := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), partial)
	for want, body := range map[string][]byte{"rejected 3 spans: \"too many\"": answer, "": nil} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }))
		t.Cleanup(server.Close)
		err := (&client{endpoint: server.URL, timeout: timing.defaultTimeout}).UploadTraces(t.Context(), []*tracepb.ResourceSpans{{}})
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestRetryAfterIsSecondsOrADate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"": 0, "7": 7 * time.Second, "-1": 0, "soon": 0, time.Now().Add(time.Minute).UTC().Format(http.TimeFormat): time.Minute} {
		if got := retryAfter(text); got > want || got < want-5*time.Second {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func FuzzRejected(f *testing.F) {
	f.Add([]byte{0x0a, 0x02, 0x08, 0x03})
	f.Add([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(_ *testing.T, answer []byte) { _ = rejected(answer) })
}
