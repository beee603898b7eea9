package aggregated

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/runtime/webhook"
)

// Serve makes the operator an aggregated API server for kinds, whose Go types addToScheme registers. Pass all
// kinds of the operator in one call.
//
// The operator maintains the APIServices that register it with the cluster's API servers, as it does its webhook
// configurations. That requires --webhook-bind-address and --webhook-service.
func Serve(addToScheme func(*runtime.Scheme) error, kinds ...Served) operon.Option {
	return operon.Setup(func(manager ctrl.Manager) error {
		if err := serve(manager, addToScheme, kinds); err != nil {
			return fmt.Errorf("serve an API: %w", err)
		}
		return nil
	})
}

// ServeIfReachable is like Serve, but leaves the API out if API servers cannot reach the operator: without
// --webhook-bind-address and --webhook-service. The log reports it. Use it for an API that an operator can do without.
func ServeIfReachable(addToScheme func(*runtime.Scheme) error, kinds ...Served) operon.Option {
	return operon.Setup(func(manager ctrl.Manager) error {
		err := errNoServer
		if one, ok := manager.(interface{ ServesWebhooks() bool }); ok && one.ServesWebhooks() {
			err = serve(manager, addToScheme, kinds)
		}
		if errors.Is(err, errNoServer) || errors.Is(err, webhook.ErrNoService) {
			manager.GetLogger().Info("an API is not served, because API servers cannot reach the operator", "reason", err.Error())
			return nil
		}
		if err != nil {
			return fmt.Errorf("serve an API: %w", err)
		}
		return nil
	})
}

// aggregator is Operon's server of webhooks.
type aggregator interface {
	Register(path string, handler http.Handler)
	Aggregate(schema.GroupVersion) error
	// Drains is closed when watches have to end.
	Drains() <-chan struct{}
	// Ended is closed when requests are answered no more.
	Ended() <-chan struct{}
}

var errNoServer = errors.New("the operator listens nowhere: give it --webhook-bind-address and --webhook-service")

func serve(manager ctrl.Manager, addToScheme func(*runtime.Scheme) error, kinds []Served) error {
	front, ok := manager.GetWebhookServer().(aggregator)
	if !ok {
		return errNoServer
	}
	a, err := newAPI(manager.GetConfig(), addToScheme, kinds)
	if err != nil {
		return err
	}
	for _, version := range a.versions {
		if err := front.Aggregate(version); err != nil {
			return err
		}
	}
	a.front = front
	for _, path := range []string{"/apis", "/apis/", "/openapi/"} {
		front.Register(path, a)
	}
	return manager.Add(a)
}

// api is the library's server, behind a server of webhooks.
type api struct {
	versions []schema.GroupVersion
	front    aggregator
	trust    *trust
	server   *server.GenericAPIServer
	ready    atomic.Bool
}

// ServeHTTP answers when it is known whom to believe.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !a.ready.Load() {
		http.Error(w, "the operator is about to start", http.StatusServiceUnavailable)
		return
	}
	a.server.Handler.ServeHTTP(w, r.WithContext(request.WithServerShutdownSignal(r.Context(), a)))
}

// ShuttingDown implements request.ServerShutdownSignal: watches end then. Their clients continue at another replica.
func (a *api) ShuttingDown() <-chan struct{} { return a.front.Drains() }

// NeedLeaderElection implements manager.LeaderElectionRunnable: every replica answers.
func (a *api) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable. Requests are answered for longer than the manager runs: until the server
// of webhooks has ended.
func (a *api) Start(ctx context.Context) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		<-a.front.Ended()
		end()
	})
	if err := a.trust.learn(life); err != nil {
		return err
	}
	if err := a.server.AddPreShutdownHook("ended", func() error { return errEnded }); err != nil {
		return err
	}
	prepared := a.server.PrepareRun()
	go func() { _ = prepared.RunWithContext(life) }() // ends with errEnded
	a.ready.Store(true)
	<-ctx.Done()
	return nil
}

// errEnded keeps the library from waiting for the end of a listener that it does not have.
var errEnded = errors.New("the operator has ended")

func newAPI(cluster *clientrest.Config, addToScheme func(*runtime.Scheme) error, kinds []Served) (*api, error) {
	scheme := runtime.NewScheme()
	if err := addToScheme(scheme); err != nil {
		return nil, err
	}
	a := &api{}
	groups := map[string]*server.APIGroupInfo{}
	var types []any
	for _, one := range kinds {
		s, err := one.add(scheme)
		if err != nil {
			return nil, err
		}
		if err := a.place(groups, scheme, s); err != nil {
			return nil, err
		}
		for _, object := range s.types {
			// Versions are converted by way of an internal one. There is none here: each is its own, under another name.
			internal := schema.GroupVersion{Group: s.gvk.Group, Version: runtime.APIVersionInternal}
			scheme.AddKnownTypeWithName(internal.WithKind(kindOf(scheme, object)+"."+s.gvk.Version), object)
			types = append(types, object)
		}
	}
	for _, version := range a.versions {
		metav1.AddToGroupVersion(scheme, version)
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	config, err := a.config(cluster, scheme, types)
	if err != nil {
		return nil, err
	}
	if a.server, err = config.Complete(nil).New("operator", server.NewEmptyDelegate()); err != nil {
		return nil, err
	}
	for _, group := range groups {
		if err := a.server.InstallAPIGroup(group); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func kindOf(scheme *runtime.Scheme, object runtime.Object) string {
	kinds, _, _ := scheme.ObjectKinds(object) // it was made by the scheme
	return kinds[0].Kind
}

// place puts a kind among the others.
func (a *api) place(groups map[string]*server.APIGroupInfo, scheme *runtime.Scheme, s *served) error {
	version := s.gvk.GroupVersion()
	group := groups[version.Group]
	if group == nil {
		group = new(server.NewDefaultAPIGroupInfo(version.Group, scheme, runtime.NewParameterCodec(scheme), serializer.NewCodecFactory(scheme)))
		group.PrioritizedVersions = nil
		groups[version.Group] = group
	}
	kinds := group.VersionedResourcesStorageMap[version.Version]
	if kinds == nil {
		kinds = map[string]rest.Storage{}
		group.VersionedResourcesStorageMap[version.Version] = kinds
		group.PrioritizedVersions = append(group.PrioritizedVersions, version)
		a.versions = append(a.versions, version)
	}
	if kinds[s.plural] != nil {
		return fmt.Errorf("%s in %s is served twice", s.plural, version)
	}
	kinds[s.plural] = s.storage
	for name, storage := range s.below {
		kinds[s.plural+"/"+name] = storage
	}
	return nil
}

// config is that of the library's server. It listens nowhere.
func (a *api) config(cluster *clientrest.Config, scheme *runtime.Scheme, types []any) (*server.Config, error) {
	client, err := kubernetes.NewForConfig(cluster)
	if err != nil {
		return nil, err
	}
	config := server.NewConfig(serializer.NewCodecFactory(scheme))
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	config.ExternalAddress = "localhost:443"           // of no use behind another API server, and required
	config.LoopbackClientConfig = &clientrest.Config{} // nothing here asks itself
	config.EnableIndex, config.EnableProfiling = false, false
	config.EnableMetrics = false
	describe(config, scheme, types)
	a.trust, err = trusting(config, client)
	return config, err
}
