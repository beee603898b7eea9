package ansible

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/ansible/internal/playbook"
	"github.com/operon-framework/operon/engine/ansible/internal/proxy"
)

// Engine runs the entries of watches.yaml that have the field role or playbook. All entries of an operator share one Engine,
// because they share one Python process. The zero value is ready to use.
type Engine struct {
	// Verbosity is the number of letters v that ansible-playbook is called with. The maximum is 7.
	Verbosity int
	// Arguments are further arguments of ansible-playbook, such as --vault-password-file, quoted as in a shell.
	Arguments string
	// RolesPath and CollectionsPath are lists of directories, separated like PATH, in which roles and collections are found.
	// Defaults: the environment variables ANSIBLE_ROLES_PATH and ANSIBLE_COLLECTIONS_PATH.
	RolesPath, CollectionsPath string
	// WithoutOwners keeps owner references out of the objects that runs create.
	WithoutOwners bool
	// ShowOutput logs the complete output of each run.
	ShowOutput bool
	// RunTimeout is the maximum duration of a run. Default: 30 minutes.
	RunTimeout time.Duration
	// GracefulShutdown is how long runs may continue when the operator stops. They are then ended. Set it only if no other replica takes over
	// their objects in the meantime, as it does with shards. Default: 0.
	GracefulShutdown time.Duration

	shared *shared
	// firstRetry replaces that of timing, if it is set.
	firstRetry time.Duration
}

// shared is what the entries of an operator share. It is set before the operator starts.
type shared struct {
	worker *playbook.Worker
	proxy  *proxy.Proxy
	// kinds are the kinds of the operator's custom resources.
	kinds     []schema.GroupKind
	composers []*composer
	// draining ends when no run may begin any more, and stop when all have to end.
	draining, stop context.Context
	drain          context.CancelFunc
	end            context.CancelCauseFunc
}

// everywhere is a part of a manager that also runs in replicas that are not the leader: with shards, they have objects, too.
type everywhere struct{ manager.RunnableFunc }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (everywhere) NeedLeaderElection() bool { return false }

// Name implements engine.Engine: it is ansible.
func (*Engine) Name() string { return "ansible" }

// Fields implements engine.Engine. maxRunnerArtifacts and watchClusterScopedResources have no effect: runs leave no files,
// and cluster-scoped objects are always watched.
func (*Engine) Fields() engine.Fields {
	return engine.Fields{Selecting: []string{"role", "playbook"}, Environment: true, Others: []string{
		"vars", "finalizer", "manageStatus", "blacklist", "maxRunnerArtifacts", "snakeCaseParameters", "watchAnnotationsChanges",
		"watchClusterScopedResources", "markUnsafe", "prune",
	}}
}

// Load implements engine.Engine. It reads all files of the role or playbook, but starts no Python.
func (e *Engine) Load(w *engine.Watch) (engine.Program, error) {
	entry, err := e.read(w)
	if err != nil {
		return engine.Program{}, err
	}
	first := e.shared == nil
	if first {
		e.shared = &shared{proxy: proxy.New(!e.WithoutOwners), worker: playbook.NewWorker(playbook.Options{
			Arguments: e.Arguments, RolesPath: e.roles(w.Dir()), CollectionsPath: e.collections(w.Dir()), ShowOutput: e.ShowOutput,
		})}
		e.shared.draining, e.shared.drain = context.WithCancel(context.Background())
		e.shared.stop, e.shared.end = context.WithCancelCause(context.Background())
	}
	e.shared.kinds = append(e.shared.kinds, w.Kind.GroupKind())
	triggers := make(chan types.NamespacedName, 1)
	c := &composer{
		entry: entry, engine: e, shared: e.shared, triggers: triggers, jobs: map[types.UID]*job{}, limits: map[types.UID]*rate.Limiter{}, swept: time.Now(),
		states: lru.New(maxStates), slots: make(chan struct{}, entry.workers),
	}
	e.shared.composers = append(e.shared.composers, c)
	program := engine.Program{
		Composer: c, Files: entry.files, Image: entry.image(),
		Options: []operon.ManageOption{operon.Trigger(triggers)},
		Setup: operon.Setup(func(m ctrl.Manager) error {
			if !first {
				return nil
			}
			if err := e.shared.proxy.Connect(m); err != nil {
				return err
			}
			return m.Add(everywhere{func(ctx context.Context) error { return e.shared.serve(ctx, e.GracefulShutdown) }})
		}),
	}
	if entry.finalizer != nil {
		program.Composer = &finalizing{c}
		program.Options = append(program.Options, operon.RetireFinalizers(entry.finalizer.name))
	}
	if !entry.manageStatus {
		program.Composer = withoutStatus(program.Composer)
		program.Options = append(program.Options, operon.WithoutStatus())
	}
	return program, nil
}

// serve runs the proxy and the worker until ctx has ended, and then until no run is left, which takes no longer than limit and the time to end a run.
func (s *shared) serve(ctx context.Context, limit time.Duration) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	parts, failed := errgroup.WithContext(life)
	parts.Go(func() error { return s.proxy.Serve(failed) })
	parts.Go(func() error { return s.worker.Serve(failed) })
	select {
	case <-ctx.Done():
	case <-failed.Done():
	}
	s.drain()
	s.await(limit)
	s.end(errors.New("the operator is being stopped"))
	s.await(timing.ending)
	end()
	return parts.Wait()
}

// await waits for a time until no run is left. It takes the slots of runs that have ended.
func (s *shared) await(limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for _, c := range s.composers {
		for ; c.drained < cap(c.slots); c.drained++ {
			select {
			case c.slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}
}
