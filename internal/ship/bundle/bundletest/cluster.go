package bundletest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/olm"
	"github.com/operon-framework/operon/internal/tools/olm/manager"
	"github.com/operon-framework/operon/internal/tools/up"
	"github.com/operon-framework/operon/local"
)

// fieldManager is the field manager of all objects that the test writes.
const fieldManager = "operon-bundle-test"

// policy is the audit policy of the cluster: all requests of ServiceAccounts that are not part of Kubernetes. A watch is written when it
// starts.
const policy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: None
    userGroups: ["system:serviceaccounts:kube-system"]
  - level: Metadata
    userGroups: ["system:serviceaccounts"]
`

// ground is a cluster in which the lifecycle manager runs.
type ground struct {
	name   string
	config *rest.Config
	client *kube.Client
	// audit is the path of the audit log, and dir a directory for files that only this user can read.
	audit, dir string
	// loaded are the names of the images in the files that were loaded.
	loaded []string
}

// onGround starts a cluster with the lifecycle manager, calls use, and removes everything, also if ctx has ended. The cluster stays if
// options.Keep is set.
func onGround(ctx context.Context, options Options, use func(context.Context, *ground) error) (err error) {
	found, err := manager.Open(ctx, options.say)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "operon-bundle-test-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cluster, err := startCluster(ctx, options, dir)
	if err != nil {
		return err
	}
	defer func() {
		if !options.Keep {
			err = errors.Join(err, stopCluster(ctx, cluster.Name))
		}
	}()
	var loaded []string
	if len(options.Archives) > 0 {
		options.say("loading images")
		if loaded, err = image.LoadArchives(ctx, cluster.Name, options.Archives...); err != nil {
			return err
		}
	}
	config, err := cluster.RESTConfig()
	if err != nil {
		return err
	}
	g := &ground{name: cluster.Name, config: config, dir: dir, audit: filepath.Join(filepath.Dir(cluster.Kubeconfig), "audit.log"), loaded: loaded}
	if g.client, err = kube.New(config, fieldManager); err != nil {
		return err
	}
	return g.manage(ctx, options, found, filepath.Join(dir, "olm"), use)
}

// configFile writes the configuration of a cluster for tests of bundles to a directory, and returns its path. A container node can reach
// what this machine reaches, such as registries.
func configFile(dir string, containers bool) (string, error) {
	policyFile, file := filepath.Join(dir, "audit-policy.yaml"), filepath.Join(dir, "cluster.yaml")
	content := fmt.Appendf(nil, "auditPolicy: %q\negress: %v\n", policyFile, containers)
	return file, errors.Join(os.WriteFile(policyFile, []byte(policy), 0o600), os.WriteFile(file, content, 0o600))
}

func startCluster(ctx context.Context, options Options, dir string) (*local.Cluster, error) {
	config, err := configFile(dir, options.Run == "")
	if err != nil {
		return nil, err
	}
	how := local.Options{Name: "bundle-test-" + strings.ToLower(rand.Text()[:6]), Config: config, TTL: timing.unused, Progress: options.Progress}
	if options.Keep {
		how.TTL = 0
	}
	if options.Run == "" {
		how.Node = local.Container
	}
	options.say("starting cluster " + how.Name)
	cluster, err := local.Up(ctx, how)
	if err == nil {
		return cluster, nil
	}
	if options.Run == "" && ctx.Err() == nil {
		err = fmt.Errorf("%w; the operator would run in pods there: name a command that runs it on this machine with --run", err)
	}
	if _, unknown := local.Status(ctx, how.Name); unknown == nil {
		err = errors.Join(err, stopCluster(ctx, how.Name))
	}
	return nil, err
}

func stopCluster(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), timing.down, fmt.Errorf("cluster %s did not stop in %s", name, timing.down))
	defer cancel()
	return local.Down(ctx, name)
}

// manage runs the lifecycle manager on this machine while use runs. project is a directory for its project, which is not that of
// `operon olm up`, so that both can run.
func (g *ground) manage(ctx context.Context, options Options, found *manager.Manager, project string, use func(context.Context, *ground) error) (err error) {
	if err := os.MkdirAll(project, 0o700); err != nil {
		return err
	}
	if err := found.WriteProject(ctx, project); err != nil {
		return err
	}
	log, err := os.Create(project + ".log")
	if err != nil {
		return err
	}
	defer log.Close()
	defer func() { err = errors.Join(err, up.Forget(project)) }()
	options.say("starting the lifecycle manager")
	using, cancel := context.WithCancelCause(ctx)
	managing, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		failed := up.Run(managing, up.Options{Dir: project, Build: found.Build, Where: up.Where{Name: g.name}, Stdout: log, Stderr: log})
		cancel(fmt.Errorf("the lifecycle manager has ended: %w", cmp.Or(failed, context.Canceled)))
	}()
	defer func() {
		stop()
		<-ended
	}()
	if err := g.awaitKinds(using); err != nil {
		return err
	}
	err = use(using, g)
	if using.Err() != nil {
		return context.Cause(using)
	}
	return err
}

// awaitKinds waits until the cluster has the kinds of the manager.
func (g *ground) awaitKinds(ctx context.Context) error {
	return poll(ctx, func() (bool, error) {
		g.client.Refresh()
		for _, kind := range []schema.GroupKind{subscriptionKind.GroupKind(), groupKind.GroupKind(), catalogKind.GroupKind()} {
			if has, err := g.client.Has(kind); err != nil || !has {
				return false, err
			}
		}
		_, err := olm.Read(ctx, g.client, "default")
		if errors.Is(err, olm.ErrNotInstalled) {
			return false, nil
		}
		return err == nil, err
	})
}

func (o Options) say(text string) { fmt.Fprintln(o.Progress, text) }
