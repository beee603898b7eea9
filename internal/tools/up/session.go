package up

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/rbac"
	"github.com/operon-framework/operon/internal/tools/terminal"
	"github.com/operon-framework/operon/internal/tools/up/process"
	"github.com/operon-framework/operon/internal/tools/up/tree"
	"github.com/operon-framework/operon/internal/tools/up/view"
)

// session is the state of one Run.
type session struct {
	options  Options
	progress io.Writer
	project  *project.Project
	folder   *folder

	target      *target
	began       bool // for Options.Use: the project is being installed
	installer   *installer
	samples     *samples
	expected    []tree.Sample
	credentials *credentials
	renew       time.Time

	operator *operator
	crashed  error // of the operator that ended by itself
	refused  *rbac.Set
	gauge    *gauge
	claim    *claim
	lost     context.CancelCauseFunc // ends the Run if another process takes the claim
	watcher  *tree.Watcher
	changes  *changes // nil if changes are not applied
	wake     chan struct{}
}

// Run runs the project in options.Dir. It returns nil in mode Loop when ctx ends, and in mode Once when all samples are
// ready. Otherwise it returns an error. In all cases, it stops the operator, and the objects in the cluster remain.
func Run(ctx context.Context, options Options) (err error) {
	options = options.withDefaults()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	read, changes, err := readProject(ctx, options)
	if err != nil {
		return err
	}
	if options.Build == nil {
		if err := process.CanBuild(read.Main.Package); err != nil {
			return err
		}
	}
	use := ""
	if options.Use != nil {
		use = testSuffix
		read.Name += use
	}
	folder, err := openFolder(read.Dir, use)
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, folder.close()) }()
	s := &session{
		options: options, progress: terminal.NewWriter(options.progress()), project: read, folder: folder,
		refused: rbac.Of(identityOf(read).user()), gauge: &gauge{}, changes: changes, wake: make(chan struct{}, 1), lost: cancel,
	}
	defer func() {
		if s.claim != nil {
			s.claim.end(ctx)
		}
	}()
	if options.Use != nil {
		defer func() { err = errors.Join(err, s.remove(ctx)) }()
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	go s.claim.watch(ctx, s.target.title, s.lost)
	err = s.run(ctx)
	if taken(ctx) {
		return context.Cause(ctx)
	}
	if err != nil || options.Mode == Once {
		return err
	}
	s.farewell()
	return nil
}

// readProject reads the project. If its changes are to be applied, they are watched before anything is read that may change,
// so that edits while the cluster starts and the operator is built are not missed.
func readProject(ctx context.Context, options Options) (*project.Project, *changes, error) {
	p, err := project.Identify(options.Dir, project.Options{Main: options.Main})
	if err != nil {
		return nil, nil, err
	}
	if options.Mode == Once {
		return p, nil, p.ReadManifests()
	}
	changes, err := watchChanges(ctx, p.Dir)
	if err != nil {
		return nil, nil, err
	}
	return p, changes, p.ReadManifests()
}

// prepare installs everything in the cluster that the operator needs, and builds the operator at the same time.
func (s *session) prepare(ctx context.Context) error {
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return s.install(ctx) })
	both.Go(func() error {
		started := time.Now()
		if err := s.build(ctx, s.project); err != nil {
			return err
		}
		s.say("operator built, %s", since(started))
		return nil
	})
	return both.Wait()
}

// build writes the operator's program.
func (s *session) build(ctx context.Context, p *project.Project) error {
	if s.options.Build != nil {
		return s.options.Build(ctx, s.folder.operator())
	}
	return process.Build(ctx, p.Dir, p.Main.Package, s.folder.operator())
}

// install ensures that the cluster runs, and installs the operator's access and kinds.
func (s *session) install(ctx context.Context) (err error) {
	started := time.Now()
	if s.target, err = startTarget(ctx, s.options.Where, s.progress); err != nil {
		return err
	}
	s.say("%s is ready, %s", s.target.title, since(started))
	if s.claim, err = newClaim(ctx, s.target, s.project.Name, s.folder, s.say); err != nil {
		return err
	}
	in, err := s.target.place(s.options.Main)
	if err != nil {
		return err
	}
	if err := s.folder.remember(in); err != nil {
		return err
	}
	if s.installer, err = newInstaller(s.target.config, s.project.Name, s.foreign); err != nil {
		return err
	}
	if s.options.Use != nil {
		s.installer.namespace = identityOf(s.project).namespace
		if err := s.begin(ctx); err != nil {
			return err
		}
		s.began = true
	}
	s.samples = &samples{in: s.installer, applied: map[string]*unstructured.Unstructured{}}
	if err := checkAccess(ctx, s.installer, s.project, s.options.Where.IsLocal()); err != nil {
		return err
	}
	started = time.Now()
	if err := s.installAll(ctx, s.project); err != nil {
		return err
	}
	who := identityOf(s.project)
	s.say("installed %s, %s; the operator is ServiceAccount %s/%s", installedOf(s.project), since(started), who.namespace, who.name)
	if s.credentials, err = newCredentials(s.target, who, s.folder); err != nil {
		return err
	}
	s.renew, err = s.credentials.write(ctx, s.target)
	return err
}

// installedOf describes what is installed for a project.
func installedOf(p *project.Project) string {
	definitions, roles := plural.Count(len(p.CRDs), "CustomResourceDefinition"), plural.Count(len(p.Grants), "Role")
	switch n := policies(p); n {
	case 0:
		return definitions + " and " + roles
	case 1:
		return definitions + ", " + roles + " and 1 admission policy"
	default:
		return fmt.Sprintf("%s, %s and %d admission policies", definitions, roles, n)
	}
}

// foreign reports an object that existed before.
func (s *session) foreign(object *unstructured.Unstructured) {
	s.say("%s existed in the cluster before: it is updated, and `operon down` will keep it", tree.Address(object))
}

// installAll installs a project's access, kinds and policies in the cluster.
func (s *session) installAll(ctx context.Context, p *project.Project) error {
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return installAccess(ctx, s.installer, p, s.options.Where.IsLocal()) })
	both.Go(func() error {
		if err := s.checkCRDs(ctx, p); err != nil {
			return err
		}
		if err := installCRDs(ctx, s.installer, p); err != nil {
			return err
		}
		return installPolicies(ctx, s.installer, p)
	})
	return both.Wait()
}

// run starts the operator, applies the samples, and continues according to the mode.
func (s *session) run(ctx context.Context) (failed error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	log, err := os.OpenFile(s.folder.log(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	if err := s.folder.keepArgs(s.options.Args); err != nil {
		return err
	}
	s.operator = &operator{
		project: s.project, folder: s.folder, who: identityOf(s.project), log: process.NewLog(log, s.logged), args: s.options.Args,
		asked: s.options.Where.IsLocal(),
	}
	if err := s.startOperator(); err != nil {
		return err
	}
	defer func() {
		s.operator.stop()
		if !taken(ctx) { // otherwise they are those of the other operator
			failed = firstOf(failed, s.unregister(ctx))
		}
	}()
	s.say("operator started, pid %d", s.operator.process.PID())
	if s.options.Use != nil {
		return s.use(ctx)
	}
	if s.expected, err = s.samples.apply(ctx, s.project); err != nil {
		return err
	}
	s.say("applied %s", plural.Count(len(s.expected), "sample"))
	if s.watcher, err = s.watch(ctx, s.project); err != nil {
		return err
	}
	go s.gauge.run(ctx, s.notify)
	if s.options.Mode == Once {
		return s.once(ctx)
	}
	return s.loop(ctx)
}

// startOperator starts the operator that was built last.
func (s *session) startOperator() error {
	if err := s.operator.start(); err != nil {
		return err
	}
	s.gauge.follow(s.operator.metricsPort)
	return nil
}

// watch starts to watch the tree of a project's objects.
func (s *session) watch(ctx context.Context, p *project.Project) (*tree.Watcher, error) {
	roots, err := rootKinds(p)
	if err != nil {
		return nil, err
	}
	watcher, err := tree.Watch(ctx, s.target.config, roots)
	if err != nil {
		return nil, err
	}
	watcher.Expect(s.expected)
	return watcher, nil
}

// logged is called with each line of the operator's output.
func (s *session) logged(line string) {
	s.refused.Add(line)
	if s.options.Mode == Loop && !view.IsTerminal(s.options.Stdout) {
		fmt.Fprintln(terminal.NewWriter(s.options.Stdout), "operator | "+line) // also with Quiet: it is no progress
	}
	s.notify()
}

// notify makes the loop check everything again.
func (s *session) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *session) say(format string, args ...any) {
	fmt.Fprintf(s.progress, format+"\n", args...)
}

func since(started time.Time) string { return fmt.Sprintf("%.1f s", time.Since(started).Seconds()) }

// firstOf returns the first error: later errors are usually caused by it.
func firstOf(first, second error) error {
	if first != nil {
		return first
	}
	return second
}
