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
	"k8s.io/kubernetes/cmd/kube-apiserver/app"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
)

const (
	openAPIPrefix = "/openapi/"
	openAPIV3     = "/openapi/v3"
)

// openAPI serves the OpenAPI documents of the built-in kinds, and builds them when a user
// first asks. Building them ahead, as kube-apiserver does, takes a third of the start and
// 30 MB; an operator never asks, kubectl does. Documents of custom resources are not
// affected: their controllers publish them as they do anywhere.
//
// Guarantees: whoever asks for a document gets it whole, as kube-apiserver would serve it.
//
// Assumptions: the aggregator merges the documents of the servers behind it by asking them
// for /openapi/v3 every second, and for /openapi/v2 when it is asked itself.
//
// Where the state is kept across starts, nothing is put off: a stored policy may need the
// documents from the first request on.
//
// Caveats: the first who asks waits for the building and for the aggregator's next
// question, together up to two seconds; the first who writes a MutatingAdmissionPolicy
// waits up to five more.
type openAPI struct {
	v2 *common.Config
	v3 *common.OpenAPIV3Config

	server    *genericapiserver.GenericAPIServer
	merged    http.Handler // the aggregator's, which asks for no credentials
	built     atomic.Bool
	documents func() http.Handler
	// publishing is held by who waits for the aggregator to serve them, which is noted in aggregating.
	publishing  sync.Mutex
	aggregating atomic.Bool
	// admission is closed when the API server's own admission knows the documents.
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

// newOpenAPI keeps the API server from building documents at its start.
func newOpenAPI(config *app.Config) *openAPI {
	generic := config.KubeAPIs.ControlPlane.Generic
	generic.SkipOpenAPIInstallation = true
	o := &openAPI{v2: generic.OpenAPIConfig, v3: generic.OpenAPIV3Config, admission: make(chan struct{})}
	o.documents = sync.OnceValue(o.build)
	return o
}

// install puts the documents' handlers into the API server, which stands behind the
// aggregator.
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

func (o *openAPI) serve(w http.ResponseWriter, r *http.Request) { o.documents().ServeHTTP(w, r) }

// serveRoot lists the groups that have a document: none, before a user has asked.
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

// wrap lets a user's request that needs the documents wait until there are documents.
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

// provide has the documents built for requests that need them. kubectl asks for them soon
// after its first request, so that building starts with that.
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

// answerOwn notes that the API server's own admission has seen the documents: it asks for
// their list every five seconds, to apply mutating policies by them.
func (o *openAPI) answerOwn(w http.ResponseWriter, r *http.Request, next http.Handler) {
	complete := r.URL.Path == openAPIV3 && o.aggregating.Load()
	next.ServeHTTP(w, r)
	if complete {
		o.seen.Do(func() { close(o.admission) })
	}
}

// known returns when admission knows the documents, without which it would refuse what a
// mutating policy applies to.
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

// published builds the documents and returns when the aggregator serves those of version 3. Where it takes too long,
// the next who asks waits for it again.
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

// recorder keeps an answer that is for this process alone.
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
