package operon

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/operon-framework/operon/internal/runtime/shard"
)

// Main runs the operator called name as a program. It reads the flags below, connects to the cluster, and runs until
// an interrupt or SIGTERM. The exit code is 0, or 1 with an error on standard error. A second signal ends it
// immediately.
//
//	--kubeconfig FILE                 default: $KUBECONFIG, the in-cluster config, or ~/.kube/config
//	--namespace NAME,NAME             watch only these namespaces; default: all
//	--metrics-bind-address ADDRESS    default 127.0.0.1:8080; 0 disables metrics
//	--metrics-secure                  serve metrics over TLS, authorized by SubjectAccessReview; default false
//	--health-probe-bind-address ADDR  default 127.0.0.1:8081; 0 disables probes
//	--webhook-bind-address ADDRESS    default :9443 in a cluster, disabled outside; 0 disables webhooks
//	--webhook-name NAME               name of what is registered; default: the operator's name and its namespaces
//	--webhook-service NAME            default in a cluster: the operator's name and -webhook
//	--webhook-service-port PORT       port of that Service; default 443
//	--webhook-cert-dir DIRECTORY      tls.crt, tls.key and ca.crt, renewed by another program; default: a CA of the operator
//	--leader-elect                    default: true in a cluster, false outside
//	--shards N                        divide the objects among the replicas in N shards; default 0, no sharding
//	--shard-lease DURATION            lease of a replica, after which others take over its objects; default 15s
//	--dry-run                         print what would be done for each object, and write nothing
//	-o text|json                      output format of a dry run; default text
//	--log-level LEVEL                 debug, info, warn or error; default info
//	--log-format FORMAT               text or json; default text
//
// ENABLE_WEBHOOKS=false disables webhooks unless --webhook-bind-address is set. If OTEL_EXPORTER_OTLP_ENDPOINT is set,
// OpenTelemetry spans are exported there by OTLP over HTTP.
func Main(name string, all ...Option) {
	if err := run(name, all); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// flags are the command-line flags of Main.
type flags struct {
	kubeconfig, namespace, metrics, health, level, format string
	output                                                string
	webhooks                                              webhookFlags
	elect, dryRun, secure                                 bool
	shards                                                int
	shardLease                                            time.Duration
}

func readFlags(name string, args []string, own ...func(*flag.FlagSet)) (flags, error) {
	var f flags
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig `FILE` (default $KUBECONFIG, the in-cluster config, or ~/.kube/config)")
	set.StringVar(&f.namespace, "namespace", "", "watch only the namespaces `NAME,NAME` (default all)")
	set.StringVar(&f.metrics, "metrics-bind-address", "127.0.0.1:8080", "`ADDRESS` that serves /metrics, 0 for none")
	set.BoolVar(&f.secure, "metrics-secure", false, "serve /metrics over TLS, authorized by SubjectAccessReview")
	set.StringVar(&f.health, "health-probe-bind-address", "127.0.0.1:8081", "`ADDRESS` that serves /healthz and /readyz, 0 for none")
	f.webhooks.define(set, name)
	set.BoolVar(&f.elect, "leader-elect", insideCluster(), "enable leader election")
	set.IntVar(&f.shards, "shards", 0, "divide the objects among the replicas in `N` shards (default: no sharding)")
	set.DurationVar(&f.shardLease, "shard-lease", shardLease, "lease duration of a replica with shards; others take over when it expires")
	set.BoolVar(&f.dryRun, "dry-run", false, "print what would be done for each object and write nothing")
	set.StringVar(&f.output, "o", "text", "output `FORMAT` of a dry run: text or json, one line for each object")
	set.StringVar(&f.level, "log-level", "info", "`LEVEL`: debug, info, warn or error")
	set.StringVar(&f.format, "log-format", "text", "`FORMAT`: text or json")
	if err := addFlags(set, own); err != nil {
		return f, err
	}
	if err := set.Parse(args); err != nil {
		return f, err
	}
	if set.NArg() > 0 {
		return f, fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	if err := shard.Check(cmp.Or(f.shards, 1), f.shardLease); err != nil {
		return f, fmt.Errorf("--shards %d --shard-lease %s: %w", f.shards, f.shardLease, err)
	}
	return f, nil
}

// addFlags adds the author's flags to a set.
func addFlags(set *flag.FlagSet, own []func(*flag.FlagSet)) error {
	var errs []error
	for _, define := range own {
		defined := flag.NewFlagSet(set.Name(), flag.ContinueOnError)
		define(defined)
		defined.VisitAll(func(f *flag.Flag) {
			if set.Lookup(f.Name) != nil {
				errs = append(errs, fmt.Errorf("operon.Flags defines --%s, which exists already: choose another name", f.Name))
				return
			}
			set.Var(f.Value, f.Name, f.Usage)
		})
	}
	return errors.Join(errs...)
}

func insideCluster() bool { return os.Getenv("KUBERNETES_SERVICE_HOST") != "" }

func run(name string, all []Option) error {
	var p parts
	for _, option := range all {
		option(&p)
	}
	f, err := readFlags(name, os.Args[1:], p.flags...)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	log, err := f.logger()
	if err != nil {
		return err
	}
	klog.SetSlogLogger(quiet(log))
	cluster, err := f.connect()
	if err != nil {
		return err
	}
	show, err := f.preview(os.Stdout)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal then has its default effect
	started := time.Now()
	cfg := Config{
		Namespaces:              f.namespaces(),
		MetricsBindAddress:      f.metrics,
		SecureMetrics:           f.secure,
		HealthProbeBindAddress:  f.health,
		LeaderElection:          f.elect,
		LeaderElectionNamespace: os.Getenv("POD_NAMESPACE"),
		Shards:                  f.shards,
		ShardLease:              f.shardLease,
		Webhooks:                f.webhooks.config(),
		DryRun:                  show,
		Log:                     log,
		Ready: func() {
			log.Info("operator started", "name", name, "after", time.Since(started).Round(time.Millisecond), "metrics", f.metrics, "health", f.health)
		},
	}
	return withTraces(ctx, name, log, func(provider trace.TracerProvider) error {
		cfg.TracerProvider = provider
		return Run(ctx, name, cluster, cfg, all...)
	})
}

// logger returns a logger that writes to standard error.
func (f *flags) logger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.level)); err != nil {
		return nil, fmt.Errorf("--log-level %q: want debug, info, warn or error", f.level)
	}
	options := &slog.HandlerOptions{Level: level}
	switch f.format {
	case "text":
		return slog.New(slog.NewTextHandler(os.Stderr, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(os.Stderr, options)), nil
	}
	return nil, fmt.Errorf("--log-format %q: want text or json", f.format)
}

// connect finds the cluster like kubectl, or uses the in-cluster configuration.
func (f *flags) connect() (*rest.Config, error) {
	if f.kubeconfig == "" && os.Getenv("KUBECONFIG") == "" && insideCluster() {
		return rest.InClusterConfig()
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	cluster, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w; name one with --kubeconfig", err)
	}
	return cluster, nil
}
