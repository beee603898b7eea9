package operon

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/operon-framework/operon/internal/core/operatorversion"
	"github.com/operon-framework/operon/internal/runtime/action"
	"github.com/operon-framework/operon/internal/runtime/freshness"
	"github.com/operon-framework/operon/internal/runtime/metricsauth"
	"github.com/operon-framework/operon/internal/runtime/reconcile"
	"github.com/operon-framework/operon/internal/runtime/reconcilelog"
	"github.com/operon-framework/operon/internal/runtime/recorder"
	"github.com/operon-framework/operon/internal/runtime/report"
	"github.com/operon-framework/operon/internal/runtime/telemetry"
	"github.com/operon-framework/operon/internal/runtime/webhook"
)

// Option is a part of an operator: see API, Manage, Setup, Flags, Version, Cluster, CacheAll and ManagerOptions.
type Option func(*parts)

// parts are the combined Options of an operator.
type parts struct {
	schemes []func(*runtime.Scheme) error
	setups  []func(context.Context, *operator) error
	cached  []client.Object
	version string
	roles   []any // author.Roles of each kind
	flags   []func(*flag.FlagSet)
	options []func(*ctrl.Options)
}

// operator is the operator as setup functions see it.
type operator struct {
	name     string
	version  string
	home     string // the namespace of its Leases
	manager  *healthy
	direct   client.WithWatch
	record   *reconcile.Record
	managed  map[schema.GroupKind]bool
	clock    clock.PassiveClock
	dryRun   func(report.Preview)
	offers   map[schema.GroupKind]action.Offer // actions on objects, by kind
	webhooks *webhook.Server                   // nil if there are no webhooks

	caches
	children
	replicas
	records
}

// records are the logs, events, traces and history of an operator.
type records struct {
	log     logr.Logger
	events  *recorder.Recorder
	tracer  *telemetry.Tracer
	history *reconcilelog.Store
}

// claim reports whether no other call of Manage has the kind, and reserves it.
func (o *operator) claim(kind schema.GroupKind) bool {
	if o.managed[kind] {
		return false
	}
	o.managed[kind] = true
	return true
}

// API adds the Go types of an API group to the operator's scheme. Built-in types are always in it.
func API(addToScheme func(*runtime.Scheme) error) Option {
	return func(p *parts) { p.schemes = append(p.schemes, addToScheme) }
}

// Version sets the version of the operator, a semantic version. It is recorded in the condition Upgraded of objects
// whenever their status is written, so that a later version knows what to upgrade (see Upgrader), and an older version
// does not change objects that a newer one has upgraded. By default there is no version, and nothing is recorded or
// upgraded.
func Version(version string) Option {
	return func(p *parts) { p.version = version }
}

// Setup gives access to the controller-runtime manager before it starts.
func Setup(setup func(ctrl.Manager) error) Option {
	return func(p *parts) {
		p.setups = append(p.setups, func(_ context.Context, o *operator) error { return setup(o.manager) })
	}
}

// Flags adds your own flags to those of Main. define is called before the command line is parsed, with a set to which
// it adds them. Redefining a flag of Main is an error. Run ignores Flags.
func Flags(define func(*flag.FlagSet)) Option {
	return func(p *parts) { p.flags = append(p.flags, define) }
}

// ManagerOptions changes the options of the controller-runtime manager before it is created: the sync period, lease
// durations, pprof, TLS. Operon has already set its own options; do not replace its cache, client, scheme or logger.
func ManagerOptions(change func(*ctrl.Options)) Option {
	return func(p *parts) { p.options = append(p.options, change) }
}

// Config configures how an operator runs. The zero value disables metrics, health probes, leader election and logs, and
// watches all namespaces.
type Config struct {
	// Namespace limits the operator to one namespace, Namespaces to several. If both are empty, it works in all
	// namespaces. A namespace that does not exist is an error.
	Namespace  string
	Namespaces []string
	// MetricsBindAddress and HealthProbeBindAddress are host:port; empty disables them. The latter serves probes and,
	// to clients on the same machine only, the debug endpoint /debug/operon.
	MetricsBindAddress, HealthProbeBindAddress string
	// SecureMetrics serves metrics over TLS, with a certificate that the process creates, to clients that the API
	// server allows to get /metrics.
	SecureMetrics bool
	// LeaderElection makes one of several replicas the leader, with a Lease that has the operator's name, in
	// LeaderElectionNamespace. Only the leader works.
	LeaderElection          bool
	LeaderElectionNamespace string
	// Shards makes several replicas active, each for a part of the objects. It is the number of parts, at most 64;
	// additional replicas are idle. Three to five times the number of replicas balances well. LeaderElection then
	// applies to everything else that must run only once. Zero disables sharding. See docs/runtime/shards.md for the
	// permissions.
	Shards int
	// ShardLease is the lease duration of a replica, after which others take over its objects: whole seconds, from 2 s
	// to one hour. Replicas may have different durations. Zero: 15 s.
	ShardLease time.Duration
	// Webhooks configures how API servers reach the operator. The zero value disables webhooks.
	Webhooks Webhooks
	// Log receives structured logs: at level info, when an object becomes ready or is no longer ready; at level debug,
	// each reconcile with its triggers, and the logs of controller-runtime. A composer logs with controller-runtime's
	// log.FromContext. Nil disables logs.
	Log *slog.Logger
	// TracerProvider creates OpenTelemetry spans of reconciles, their steps and their requests. Nil disables traces.
	// Main sets it if OTEL_EXPORTER_OTLP_ENDPOINT is set.
	TracerProvider trace.TracerProvider
	// DryRun makes the operator write nothing: no children, status, events, Leases or finalizers. It is called for each
	// object with the planned actions, once and again only when they change.
	DryRun func(Preview)
	// Clock is the clock of the operator, for tests. If nil, the system clock is used.
	Clock clock.PassiveClock
	// Ready is called once when the operator is running. It may be nil.
	Ready func()
}

// Run runs the operator called name on a cluster until ctx is canceled. After that, running reconciles may finish, and
// leadership is released.
func Run(ctx context.Context, name string, cluster *rest.Config, cfg Config, all ...Option) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx)) // reconciles that are finishing still read
	defer end()
	o, setups, err := newOperator(life, name, cluster, cfg, all)
	if err != nil {
		return err
	}
	if err := o.findNamespaces(ctx, o.direct); err != nil {
		return err
	}
	if err := o.mayShare(ctx, o.direct); err != nil {
		return err
	}
	for _, setup := range setups {
		if err := setup(life, o); err != nil {
			return err
		}
	}
	if err := o.act(); err != nil {
		return err
	}
	if o.history != nil {
		if err := o.manager.serve(ctx, cfg.HealthProbeBindAddress, o.history); err != nil {
			return err
		}
	}
	stop, err := o.startWebhooks(ctx, life)
	if err != nil {
		return err
	}
	defer stop()
	flush, err := o.events.Start(ctx)
	if err != nil {
		return err
	}
	defer flush()
	if cfg.Ready != nil {
		go o.awaitReady(ctx, cfg.Ready)
	}
	err = o.manager.Start(reconcile.During(ctx, life))
	if err != nil {
		end() // it did not wait for running reconciles, for example because another replica leads now
	}
	return err
}

// awaitReady calls ready when this replica leads and its caches are filled.
func (o *operator) awaitReady(ctx context.Context, ready func()) {
	if o.member == nil { // with shards, replicas work without election
		select {
		case <-ctx.Done():
			return
		case <-o.manager.Elected():
		}
	}
	if o.manager.GetCache().WaitForCacheSync(ctx) {
		ready()
	}
}

func newOperator(ctx context.Context, name string, cluster *rest.Config, cfg Config, all []Option) (*operator, []func(context.Context, *operator) error, error) {
	var p parts
	for _, part := range all {
		part(&p)
	}
	if len(p.setups) == 0 {
		return nil, nil, errors.New("the operator manages nothing: give Run an operon.Manage or operon.Setup")
	}
	if err := operatorversion.Check(p.version); p.version != "" && err != nil {
		return nil, nil, fmt.Errorf("operon.Version: %w", err)
	}
	scheme, err := p.scheme()
	if err != nil {
		return nil, nil, err
	}
	o := &operator{name: name, version: p.version, managed: map[schema.GroupKind]bool{}, offers: map[schema.GroupKind]action.Offer{}, clock: cfg.Clock, dryRun: showing(cfg.DryRun)}
	namespaces := cfg.namespaces()
	o.namespaces = cacheOf(namespaces)
	o.overlay = freshness.NewOverlay(scheme)
	o.ready = o.awaitConversion
	if o.cached, err = p.kindsCached(scheme); err != nil {
		return nil, nil, err
	}
	cluster = rest.CopyConfig(cluster)
	cluster.QPS = -1 // priority and fairness in the API server limits the rate
	rest.AddUserAgent(cluster, name)
	if o.tracer = telemetry.NewTracer(cfg.TracerProvider); o.tracer != nil {
		cluster.Wrap(o.tracer.Wrap)
	}
	if cfg.DryRun != nil {
		cluster.Wrap(readOnly)
		cfg.LeaderElection, cfg.Shards = false, 0
	}
	if err := o.share(cluster, name, cfg); err != nil {
		return nil, nil, err
	}
	own, machinery := cfg.loggers()
	o.log = own
	giveLogger(machinery)
	options := o.options(scheme, machinery, cfg)
	for _, change := range p.options {
		change(&options)
	}
	made, err := ctrl.NewManager(cluster, options)
	if err != nil {
		return nil, nil, err
	}
	o.manager = &healthy{Manager: made}
	o.history = historyFor(name, cluster, cfg)
	if o.events, err = recorder.New(name, cluster, o.manager.GetHTTPClient(), scheme, machinery); err != nil {
		return nil, nil, err
	}
	if err := o.manager.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, nil, err
	}
	if err := o.manager.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return nil, nil, err
	}
	o.direct, err = client.NewWithWatch(cluster, client.Options{
		Scheme: scheme, Mapper: o.manager.GetRESTMapper(), HTTPClient: o.manager.GetHTTPClient(),
	})
	if err != nil {
		return nil, nil, err
	}
	o.home = cfg.ownNamespace()
	o.record = reconcile.NewRecord(o.direct, o.home, name)
	if err := o.join(o.manager, o.direct, o.log); err != nil {
		return nil, nil, err
	}
	if err := o.watch(ctx, o.manager, name, o.caches.namespaces, o.member); err != nil {
		return nil, nil, err
	}
	return o, p.setups, o.serveWebhooks(cfg)
}

func (p *parts) scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range append([]func(*runtime.Scheme) error{clientgoscheme.AddToScheme}, p.schemes...) {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register an API: %w", err)
		}
	}
	return scheme, nil
}

func (o *operator) options(scheme *runtime.Scheme, log logr.Logger, cfg Config) ctrl.Options {
	options := ctrl.Options{
		Scheme:                        scheme,
		Logger:                        log,
		Metrics:                       cfg.metrics(),
		HealthProbeBindAddress:        "0", // served by healthy
		LeaderElection:                cfg.LeaderElection,
		LeaderElectionID:              o.name,
		LeaderElectionNamespace:       cfg.LeaderElectionNamespace,
		LeaderElectionReleaseOnCancel: true,
		NewCache:                      o.newCache,
		NewClient:                     o.newClient,
		Cache: cache.Options{
			DefaultNamespaces: o.namespaces,
			DefaultTransform:  cache.TransformStripManagedFields(),
		},
	}
	if o.member != nil {
		options.Cache.NewInformer = o.newInformer(scheme)
	}
	return options
}

// ownNamespace returns the namespace of the operator's own Leases.
func (c Config) ownNamespace() string {
	return cmp.Or(append([]string{c.LeaderElectionNamespace}, append(c.namespaces(), metav1.NamespaceDefault)...)...)
}

// metrics returns the options of the metrics server.
func (c Config) metrics() metricsserver.Options {
	options := metricsserver.Options{BindAddress: orNone(c.MetricsBindAddress)}
	if c.SecureMetrics {
		options.SecureServing, options.FilterProvider = true, metricsauth.Filter
		options.TLSOpts = []func(*tls.Config){func(config *tls.Config) { config.NextProtos = []string{"http/1.1"} }} // HTTP/2 is not needed
	}
	return options
}

// orNone returns "0" for an empty address: controller-runtime interprets "0" as no endpoint, and an empty address as
// its default.
func orNone(address string) string {
	if address == "" {
		return "0"
	}
	return address
}
