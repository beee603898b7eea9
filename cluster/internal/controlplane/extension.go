package controlplane

import (
	"context"
	"maps"
	"net/http"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	aggregator "k8s.io/kube-aggregator/pkg/apiserver"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app/config"
)

// Extension changes how a control plane starts, or adds to its behavior. A nil field changes nothing. Functions are called
// once, in the order of the fields. Several extensions are called in the order in which they are passed to Start.
type Extension struct {
	// Etcd changes etcd's configuration.
	Etcd func(*embed.Config)
	// Stored is called when etcd serves, before the API server reads from it. fresh reports whether etcd is empty.
	Stored func(ctx context.Context, etcd *clientv3.Client, fresh bool) error
	// Admission changes the API server's admission plugins, after flags were applied.
	Admission func(*genericoptions.AdmissionOptions)
	// APIServer changes the API server's configuration.
	APIServer func(*apiserver.Config)
	// Handler wraps the API server's own handlers, including authentication. The handler of the first extension is outermost.
	Handler func(http.Handler) http.Handler
	// Built is called with the API server before it serves.
	Built func(APIServer)
	// ControllerManager and Scheduler are flags of the component. The flags in Config override them.
	ControllerManager, Scheduler Settings
	// RunControllers runs the controllers until ctx ends. If it is nil, app.Run of kube-controller-manager runs them.
	RunControllers func(ctx context.Context, config *controllermanager.CompletedConfig) error
}

// APIServer is an API server that is ready to run.
type APIServer struct {
	// Aggregator receives all requests first.
	Aggregator *aggregator.APIAggregator
	// Server serves the built-in kinds, behind the aggregator.
	Server *genericapiserver.GenericAPIServer
}

// extensions are the extensions of a control plane.
type extensions []Extension

func (all extensions) etcd(config *embed.Config) {
	for _, e := range all {
		if e.Etcd != nil {
			e.Etcd(config)
		}
	}
}

func (all extensions) stored(ctx context.Context, etcd *clientv3.Client, fresh bool) error {
	for _, e := range all {
		if e.Stored == nil {
			continue
		}
		if err := e.Stored(ctx, etcd, fresh); err != nil {
			return err
		}
	}
	return nil
}

func (all extensions) admission(options *genericoptions.AdmissionOptions) {
	for _, e := range all {
		if e.Admission != nil {
			e.Admission(options)
		}
	}
}

func (all extensions) apiServer(config *apiserver.Config) {
	for _, e := range all {
		if e.APIServer != nil {
			e.APIServer(config)
		}
	}
	generic := config.Aggregator.GenericConfig
	build := generic.BuildHandlerChainFunc
	generic.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		return all.handler(build(handler, c))
	}
}

func (all extensions) handler(next http.Handler) http.Handler {
	for i := len(all) - 1; i >= 0; i-- {
		if wrap := all[i].Handler; wrap != nil {
			next = wrap(next)
		}
	}
	return next
}

func (all extensions) built(server APIServer) {
	for _, e := range all {
		if e.Built != nil {
			e.Built(server)
		}
	}
}

// settings adds the flags that the extensions set for a component to base.
func (all extensions) settings(base Settings, of func(Extension) Settings) Settings {
	for _, e := range all {
		maps.Copy(base, of(e))
	}
	return base
}

// runControllers returns the function that runs the controllers: the one of the last extension that has one, or run.
func (all extensions) runControllers(run func(context.Context, *controllermanager.CompletedConfig) error) func(context.Context, *controllermanager.CompletedConfig) error {
	for _, e := range all {
		if e.RunControllers != nil {
			run = e.RunControllers
		}
	}
	return run
}
