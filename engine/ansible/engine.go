package ansible

import (
	"time"

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

	shared *shared
	// firstRetry replaces that of timing, if it is set.
	firstRetry time.Duration
}

// shared is what the entries of an operator share. It is set before the operator starts.
type shared struct {
	worker *playbook.Worker
	proxy  *proxy.Proxy
	// kinds are the kinds of the operator's custom resources.
	kinds []schema.GroupKind
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
	}
	e.shared.kinds = append(e.shared.kinds, w.Kind.GroupKind())
	triggers := make(chan types.NamespacedName, 1)
	c := &composer{
		entry: entry, engine: e, shared: e.shared, triggers: triggers, jobs: map[types.UID]*job{}, limits: map[types.UID]*rate.Limiter{}, swept: time.Now(),
		states: lru.New(maxStates),
	}
	program := engine.Program{
		Composer: c, Files: entry.files, Image: entry.image(),
		Options: []operon.ManageOption{operon.Trigger(triggers)},
		Setup: operon.Setup(func(m ctrl.Manager) error {
			if first {
				if err := e.shared.start(m); err != nil {
					return err
				}
			}
			return c.start(m)
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

// start adds the proxy and the worker to the manager of an operator.
func (s *shared) start(m ctrl.Manager) error {
	if err := s.proxy.Connect(m); err != nil {
		return err
	}
	for _, part := range []manager.RunnableFunc{s.proxy.Serve, s.worker.Serve} {
		if err := m.Add(everywhere{part}); err != nil {
			return err
		}
	}
	return nil
}
