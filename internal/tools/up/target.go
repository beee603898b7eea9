package up

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/operon-framework/operon/local"
)

// target is the cluster to use.
type target struct {
	where  Where
	config *rest.Config
	// cluster is the server and its certificate authority, as in a kubeconfig.
	cluster clientcmdapi.Cluster
	// raw is the kubeconfig. Its current context is the one that is used.
	raw clientcmdapi.Config
	// title is the name of the cluster in a sentence.
	title string
	// namespace is the namespace of the kubeconfig's context, or empty if the context does not name one.
	namespace string
}

// Cluster is a running cluster, for commands that only read from it.
type Cluster struct {
	Config *rest.Config
	// Title is the name of the cluster in a sentence.
	Title string
	// Namespace is the namespace of the kubeconfig's context, or "default" if the context does not name one.
	Namespace string
}

// Find finds a running cluster.
func Find(ctx context.Context, where Where) (*Cluster, error) {
	if where.IsLocal() {
		where.Name = cmp.Or(where.Name, local.DefaultName)
	}
	t, err := findTarget(ctx, where)
	if errors.Is(err, errStopped) {
		return nil, fmt.Errorf("%w; start it with `operon up` or `operon cluster up`, or name another one with --cluster, --kubeconfig or --context", err)
	}
	if err != nil {
		return nil, err
	}
	return &Cluster{Config: t.config, Title: t.title, Namespace: cmp.Or(t.namespace, metav1.NamespaceDefault)}, nil
}

// startTarget ensures that a cluster runs: a local cluster is started.
func startTarget(ctx context.Context, where Where, progress io.Writer) (*target, error) {
	if !where.IsLocal() {
		return findTarget(ctx, where)
	}
	cluster, err := local.Up(ctx, local.Options{Name: where.Name, TTL: where.TTL, Progress: progress})
	if err != nil {
		return nil, err
	}
	return localTarget(where, cluster)
}

// errStopped is the error for a local cluster that does not run.
var errStopped = errors.New("it is not running")

// findTarget finds a cluster that must exist already.
func findTarget(ctx context.Context, where Where) (*target, error) {
	if !where.IsLocal() {
		return remoteTarget(ctx, where)
	}
	cluster, err := local.Status(ctx, where.Name)
	if err != nil {
		return nil, err
	}
	if cluster.State != local.Running {
		return nil, fmt.Errorf("local cluster %q: %w", where.Name, errStopped)
	}
	return localTarget(where, cluster)
}

func localTarget(where Where, cluster *local.Cluster) (*target, error) {
	t := &target{where: where, title: fmt.Sprintf("cluster %q (%s)", cluster.Name, cluster.Version)}
	return t, t.load(clientcmd.ClientConfigLoadingRules{ExplicitPath: cluster.Kubeconfig}, "")
}

func remoteTarget(ctx context.Context, where Where) (*target, error) {
	rules := *clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = where.Kubeconfig
	t := &target{where: where}
	if err := t.load(rules, where.Context); err != nil {
		return nil, err
	}
	version, err := t.version(ctx)
	if err != nil {
		return nil, err
	}
	t.title = fmt.Sprintf("%s (%s)", t.config.Host, version)
	return t, nil
}

// load reads a kubeconfig.
func (t *target) load(rules clientcmd.ClientConfigLoadingRules, contextName string) error {
	rules.Warner = func(error) {}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(&rules, &clientcmd.ConfigOverrides{CurrentContext: contextName})
	raw, err := loader.RawConfig()
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	contextName = cmp.Or(contextName, raw.CurrentContext)
	if contextName == "" && len(raw.Contexts) > 0 {
		return fmt.Errorf("the kubeconfig has no current context: name one with --context, of %s", strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", "))
	}
	config, err := loader.ClientConfig()
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	if raw.Contexts[contextName] == nil || raw.Clusters[raw.Contexts[contextName].Cluster] == nil {
		return fmt.Errorf("read the kubeconfig: its context %q names no cluster", contextName)
	}
	t.cluster = *raw.Clusters[raw.Contexts[contextName].Cluster]
	t.namespace = raw.Contexts[contextName].Namespace
	t.raw, t.raw.CurrentContext = raw, contextName
	t.config = config
	t.config.QPS = -1 // the server limits requests with priority and fairness
	return t.resolvePaths()
}

// resolvePaths makes the path of the certificate authority absolute. It is relative to the kubeconfig that names it.
func (t *target) resolvePaths() error {
	file := t.cluster.CertificateAuthority
	if file == "" || filepath.IsAbs(file) {
		return nil
	}
	absolute, err := filepath.Abs(filepath.Join(filepath.Dir(t.cluster.LocationOfOrigin), file))
	t.cluster.CertificateAuthority = absolute
	return err
}

// place returns where the cluster is found again, also if the user's current context or directory is another one then.
func (t *target) place(main string) (place, error) {
	in := place{Where: t.where, Main: main}
	if t.where.IsLocal() {
		return in, nil
	}
	in.Context, in.Server = t.raw.CurrentContext, t.config.Host
	if in.Kubeconfig == "" {
		return in, nil
	}
	var err error
	in.Kubeconfig, err = filepath.Abs(in.Kubeconfig)
	return in, err
}

// version queries the version of the cluster, which also shows whether the cluster answers.
func (t *target) version(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timing.answerTimeout)
	defer cancel()
	config := rest.CopyConfig(t.config)
	config.Timeout = timing.answerTimeout
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return "", err
	}
	version, err := client.ServerVersionWithContext(ctx)
	if err != nil {
		return "", fmt.Errorf("the cluster at %s does not answer: %w; check whether it runs, or select another one with --kubeconfig and --context", t.config.Host, plain(err))
	}
	return version.GitVersion, nil
}

// plain removes the URL from a client's error, because the error already names the server.
func plain(err error) error {
	var urlError *url.Error
	if errors.As(err, &urlError) {
		return urlError.Err
	}
	return err
}
