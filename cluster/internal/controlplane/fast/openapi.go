package fast

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/apiserver/pkg/server/routes"
	"k8s.io/klog/v2"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
)

const (
	openAPIPrefix = "/openapi/"
	openAPIV3     = "/openapi/v3"
)

// openAPI serves the OpenAPI documents of the built-in kinds, and builds them on the first request of a user. kube-apiserver
// builds them in advance, which takes a third of the start and 30 MB. Operators never request them, kubectl does. Documents of
// custom resources are not affected: their controllers publish them as usual.
//
// Guarantees: every response contains the complete document, as kube-apiserver would serve it.
//
// Assumptions: the aggregator merges the documents of the servers behind it. It requests /openapi/v3 from them every second,
// and /openapi/v2 when it receives a request for that document.
//
// If the state is retained across starts, nothing is deferred: a stored policy may need the documents for the first request.
//
// Caveats: the first request waits for the documents to be built and for the next request of the aggregator, together up to two
// seconds. The first write of a MutatingAdmissionPolicy waits up to five more seconds.
type openAPI struct {
	v2 *common.Config
	v3 *common.OpenAPIV3Config

	server    *genericapiserver.GenericAPIServer
	merged    http.Handler // the aggregator's handler, which requires no credentials
	built     atomic.Bool
	documents func() http.Handler
	// publishing is locked by the request that waits until the aggregator serves the documents. aggregating is set when it does.
	publishing  sync.Mutex
	aggregating atomic.Bool
	// admission is closed when the API server's own admission has read the documents.
	admission chan struct{}
	seen      sync.Once
}

func deferOpenAPI(s *start) {
	if s.cfg.Durable() {
		return
	}
	var documents *openAPI
	s.extend(controlplane.Extension{
		APIServer: func(config *app.Config) { documents = newOpenAPI(config) },
		Handler:   func(next http.Handler) http.Handler { return documents.wrap(next) },
		Built:     func(server controlplane.APIServer) { documents.install(server) },
	})
}

// newOpenAPI prevents the API server from building documents at its start.
func newOpenAPI(config *app.Config) *openAPI {
	generic := config.KubeAPIs.ControlPlane.Generic
	generic.SkipOpenAPIInstallation = true
	o := &openAPI{v2: generic.OpenAPIConfig, v3: generic.OpenAPIV3Config, admission: make(chan struct{})}
	o.v2.GetDefinitionName = calledOnce(o.v2.GetDefinitionName)
	o.v3.GetDefinitionName = calledOnce(o.v3.GetDefinitionName)
	o.documents = sync.OnceValue(o.build)
	return o
}

// install adds the handlers of the documents to the API server behind the aggregator.
func (o *openAPI) install(s controlplane.APIServer) {
	o.server, o.merged = s.Server, s.Aggregator.GenericAPIServer.UnprotectedHandler()
	paths := s.Server.Handler.NonGoRestfulMux
	paths.Handle("/openapi/v2", http.HandlerFunc(o.serve))
	paths.Handle(openAPIV3, http.HandlerFunc(o.serveRoot))
	paths.HandlePrefix(openAPIV3+"/", http.HandlerFunc(o.serve))
}

func (o *openAPI) build() http.Handler {
	paths := mux.NewPathRecorderMux("openapi")
	documents := routes.OpenAPI{Config: o.v2, V3Config: o.v3}
	var both sync.WaitGroup
	both.Go(func() { documents.InstallV2(o.server.Handler.GoRestfulContainer, paths) })
	both.Go(func() { documents.InstallV3(o.server.Handler.GoRestfulContainer, paths) })
	both.Wait()
	o.built.Store(true)
	return paths
}

// calledOnce returns a function that calls name once for each definition. Otherwise every document gets its own copy of the list of kinds
// that each shared definition belongs to, which is long for DeleteOptions: 30 MB in all documents.
func calledOnce(name func(string) (string, spec.Extensions)) func(string) (string, spec.Extensions) {
	type result struct {
		name       string
		extensions spec.Extensions
	}
	var known sync.Map
	return func(definition string) (string, spec.Extensions) {
		found, ok := known.Load(definition)
		if !ok {
			friendly, extensions := name(definition)
			found, _ = known.LoadOrStore(definition, result{friendly, extensions})
		}
		r := found.(result)
		return r.name, r.extensions
	}
}

func (o *openAPI) serve(w http.ResponseWriter, r *http.Request) { o.documents().ServeHTTP(w, r) }

// serveRoot lists the groups that have a document. The list is empty until a user requests documents.
func (o *openAPI) serveRoot(w http.ResponseWriter, r *http.Request) {
	if o.built.Load() {
		o.serve(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write([]byte(`{"paths":{}}`)); err != nil {
		klog.V(4).InfoS("The aggregator's question was not answered", "err", err)
	}
}

// wrap delays user requests that need the documents until the documents are served.
func (o *openAPI) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if controlplane.OwnComponent(r) {
			o.answerOwn(w, r, next)
			return
		}
		if err := o.provide(r); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// provide builds the documents for requests that need them. kubectl requests them soon after its first request. Therefore its
// first request starts the build.
func (o *openAPI) provide(r *http.Request) error {
	switch {
	case strings.HasPrefix(r.URL.Path, openAPIPrefix):
		return o.published(r.Context())
	case r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/mutatingadmissionpolicies"):
		return o.known(r.Context())
	case strings.HasPrefix(r.UserAgent(), "kubectl"):
		go o.published(context.WithoutCancel(r.Context()))
	}
	return nil
}

// answerOwn records that the API server's own admission has read the documents: it requests their list every five seconds, to
// apply mutating policies with them.
func (o *openAPI) answerOwn(w http.ResponseWriter, r *http.Request, next http.Handler) {
	complete := r.URL.Path == openAPIV3 && o.aggregating.Load()
	next.ServeHTTP(w, r)
	if complete {
		o.seen.Do(func() { close(o.admission) })
	}
}

// known returns when admission has read the documents. Without them, admission would reject the objects that a mutating policy
// applies to.
func (o *openAPI) known(ctx context.Context) error {
	if err := o.published(ctx); err != nil {
		return err
	}
	select {
	case <-o.admission:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// published builds the documents and returns when the aggregator serves the documents of version 3. After a timeout, the next
// request waits for them again.
func (o *openAPI) published(ctx context.Context) error {
	o.publishing.Lock()
	defer o.publishing.Unlock()
	if o.aggregating.Load() {
		return nil
	}
	o.documents()
	ctx, cancel := context.WithTimeout(ctx, timing.publishDeadline)
	defer cancel()
	ticker := time.NewTicker(timing.publishPeriod)
	defer ticker.Stop()
	for {
		if o.aggregated(ctx) {
			o.aggregating.Store(true)
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the aggregator does not serve the OpenAPI documents after %s", timing.publishDeadline)
		case <-ticker.C:
		}
	}
}

func (o *openAPI) aggregated(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, openAPIV3, nil)
	if err != nil {
		return false
	}
	var answer recorder
	o.merged.ServeHTTP(&answer, request)
	return bytes.Contains(answer.body.Bytes(), []byte(`"api/v1"`))
}

// recorder stores a response for use in this process only.
type recorder struct {
	header http.Header
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header {
	if r.header == nil {
		r.header = http.Header{}
	}
	return r.header
}

func (r *recorder) Write(data []byte) (int, error) { return r.body.Write(data) }

func (r *recorder) WriteHeader(int) {}
