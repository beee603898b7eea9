package prove

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/prove/clusterwatch"
	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/normalize"
	"github.com/operon-framework/operon/internal/prove/oracle"
	"github.com/operon-framework/operon/internal/prove/report"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/runner"
	"github.com/operon-framework/operon/internal/prove/testplan"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// session is one call of Prove.
type session struct {
	Options
	admin  *rest.Config // with patience
	stage  *runner.Stage
	base   workload.Workload
	refs   oracle.References
	learnt []runlog.Trace // the runs without faults
	until  time.Time
	// whole is the context of all runs with faults. enough ends those that do not belong to a finding that is confirmed.
	whole   context.Context
	enough  context.CancelFunc
	unwatch func()
	history normalize.History
	maps    normalize.Maps
	brought []string // definitions that the session put into the cluster
	// replayed is the file that is repeated, or nil if plans are chosen.
	replayed *File

	outage outage // runs in a row that could not be completed

	mu         sync.Mutex
	report     report.Report
	found      map[string]*finding.Finding // by key
	declines   map[declining][]finding.Finding
	requests   []requestlog.Request // of all runs
	namespaces []string             // of all runs
	done       int
	left       int
}

// Prove tests an operator and returns a report of its findings. Findings are not an error: an error states why the
// operator could not be tested. If ctx is canceled early or a cluster is lost, Prove returns the report of what
// was known until then along with the error.
func Prove(ctx context.Context, options Options) (*report.Report, error) {
	return run(ctx, options, nil, (*session).chosen)
}

// run tests an operator with plans that are chosen when its behavior without faults is known. file is the file to repeat, or
// nil.
func run(ctx context.Context, options Options, file *File, choose func(*session) []testplan.Plan) (_ *report.Report, err error) {
	s, err := newSession(options, file)
	if err != nil {
		return nil, err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), timing.closeTimeout)
		defer cancel()
		err = errors.Join(err, s.close(closing))
	}()
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	s.report.Notes = append(s.report.Notes, s.unsampled()...)
	if slices.ContainsFunc(s.CRDs, func(definition *unstructured.Unstructured) bool { return wide(definition) && s.sampled(definition) }) {
		s.alone("the operator's kinds have no namespace")
	}
	if err := s.learn(ctx); err != nil {
		return nil, err
	}
	err = s.work(ctx, choose(s))
	return &s.report, errors.Join(err, s.tooShort(err), s.finish())
}

// newSession creates a session from options.
func newSession(options Options, file *File) (*session, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	options, notes, err := options.withoutWebhooks()
	if err != nil {
		return nil, err
	}
	if len(options.Samples) == 0 {
		return nil, fmt.Errorf("no sample has a usable version: %s; add one in the storage version", strings.Join(notes, "; "))
	}
	history, err := normalize.HistoryOf(slices.Concat(options.CRDs, options.Setup)...)
	if err != nil {
		return nil, err
	}
	maps, err := normalize.MapsOf(slices.Concat(options.CRDs, options.Setup)...)
	if err != nil {
		return nil, err
	}
	s := &session{Options: options, history: history, maps: maps, replayed: file, found: map[string]*finding.Finding{}, declines: map[declining][]finding.Finding{}}
	s.report = report.Report{
		Operator: report.Operator{Name: s.Name, Command: s.Command},
		Started:  time.Now(), Budget: s.Budget, Seed: s.Seed, Notes: append(notes, history.Words()...),
	}
	if file != nil {
		s.report.Pause = file.Pause
	}
	return s, nil
}

// wide reports whether a kind is cluster-scoped.
func wide(definition *unstructured.Unstructured) bool {
	scope, _, _ := unstructured.NestedString(definition.Object, "spec", "scope")
	return scope == "Cluster"
}

// open prepares the cluster.
func (s *session) open(ctx context.Context) error {
	s.at("preparing the cluster")
	if err := s.install(ctx); err != nil {
		return err
	}
	found, err := discovery.NewDiscoveryClientForConfig(s.admin)
	if err != nil {
		return err
	}
	version, err := found.ServerVersion()
	if err != nil {
		return fmt.Errorf("the cluster does not respond: %w", err)
	}
	s.report.Cluster = version.GitVersion
	if err := s.watch(ctx); err != nil {
		return err
	}
	s.stage, err = runner.Open(ctx, runner.Settings{
		Config: s.Config, Witness: s.Witness, Operator: s.Operator, Setup: s.Setup, Grants: s.Grants,
		Namespace: s.Namespace, Disposable: s.Disposable, Turns: s.Turns, Folder: s.Folder,
	})
	if err != nil {
		return err
	}
	if program, is := s.Operator.(runner.Process); is && program.InCluster() != nil {
		s.report.Notes = append(s.report.Notes, "the operator got $KUBECONFIG and no settings of a pod: "+program.InCluster().Error())
	}
	return s.stage.Serves(slices.Concat(s.Samples, s.Setup))
}

// watch starts a watcher of the cluster if none was given.
func (s *session) watch(ctx context.Context) (err error) {
	if s.Witness != nil {
		return s.Witness.Refresh(ctx)
	}
	if s.Witness, err = clusterwatch.Start(ctx, s.Config); err == nil {
		s.unwatch = s.Witness.Close
	}
	return err
}

// at reports the current activity before there are plans.
func (s *session) at(what string) { s.observe(what) }

// close reverts what open did.
func (s *session) close(ctx context.Context) error {
	var err error
	if s.stage != nil {
		err = s.stage.Close(ctx)
	}
	if s.unwatch != nil {
		s.unwatch()
	}
	return errors.Join(err, s.uninstall(ctx))
}

// references is the number of runs without faults. Differences between them are noise.
const references = 2

// learn determines what the operator does without faults.
func (s *session) learn(ctx context.Context) error {
	s.at("learning what the operator does without faults")
	s.base = workload.Sample(s.Samples, s.CRDs)
	if s.replayed != nil {
		s.base = asFarAs(s.base, s.replayed.Plan.Workload)
	}
	fresh, err := s.rehearse(ctx)
	if err != nil {
		return err
	}
	if why := s.entangled(fresh); s.Workers > 1 && why != "" {
		s.alone(why)
		s.at("learning it once more, one run after the other: " + why)
		if fresh, err = s.rehearse(ctx); err != nil {
			return err
		}
	}
	if fresh, err = s.awaited(ctx, fresh); err != nil {
		return err
	}
	refs, findings, err := oracle.Reference(s.base, s.runs(fresh, nil))
	s.Accept.Mark(findings)
	if err == nil && slices.ContainsFunc(findings, func(f finding.Finding) bool { return f.Property == finding.NothingLeft && f.Accepted == "" }) {
		refs, findings, err = s.withoutOwn(ctx, fresh)
	}
	if err != nil {
		return err
	}
	s.refs = refs
	s.report.Notes = append(s.report.Notes, refs.Own()...)
	if words := refs.Noise.Words(); words != "" {
		s.report.Notes = append(s.report.Notes, words)
	}
	if rhythm := refs.Rhythm(); len(rhythm) > 0 {
		s.report.Notes = append(s.report.Notes, fmt.Sprintf("the operator never becomes silent (%s): a step is over when nothing else happens", rhythm))
	}
	for _, note := range s.unready() {
		s.at(note)
		s.report.Notes = append(s.report.Notes, note)
	}
	for i := range s.learnt {
		s.uses(&s.learnt[i])
	}
	s.Accept.Mark(findings)
	for _, f := range findings {
		if guessed(s.base, f.Step, s.isGuess(s.Samples)) {
			f.Level = finding.Note
		}
		f.Plan = s.unharmed()
		s.confirmed(s.weighed(f), &s.learnt[0])
	}
	return nil
}

// unharmed returns the plan of the runs without faults.
func (s *session) unharmed() *testplan.Plan {
	return &testplan.Plan{Name: "without faults", Workload: s.base}
}

// alone makes plans run one at a time.
func (s *session) alone(why string) {
	s.Workers = 1
	s.report.Notes = append(s.report.Notes, why+": one plan at a time")
}

// entangled returns the reason why parallel runs would disturb each other, or "".
func (s *session) entangled(fresh map[string]runlog.Trace) string {
	runs := slices.AppendSeq(slices.Clone(s.learnt), maps.Values(fresh))
	taken := slices.ContainsFunc(runs, func(t runlog.Trace) bool {
		return slices.ContainsFunc(t.Exits, func(e runlog.Exit) bool { return e.PortTaken() })
	})
	switch {
	case taken:
		return "the operator always listens on the same port ({port} in its command becomes a free one)"
	case s.reachesOut():
		return "the operator writes out of its namespace"
	}
	return ""
}

// reachesOut reports whether a run changed something outside of its namespace.
func (s *session) reachesOut() bool {
	return slices.ContainsFunc(s.learnt, func(t runlog.Trace) bool {
		return slices.ContainsFunc(t.Changes, func(c runlog.Change) bool { return c.Namespace != t.Namespace })
	})
}

// rehearse runs the workload without faults, and the runs with which its steps are compared.
func (s *session) rehearse(ctx context.Context) (fresh map[string]runlog.Trace, err error) {
	s.learnt = make([]runlog.Trace, references)
	group, both := errgroup.WithContext(ctx)
	if s.Workers == 1 {
		group.SetLimit(1)
	}
	for i := range references {
		group.Go(func() error {
			if err := pause(both, time.Duration(i)*timing.apart); err != nil {
				return err
			}
			seen, err := s.stage.Carry(both, *s.unharmed(), runner.Pace{
				Unsure: s.Settle, Settle: s.Settle, Pause: s.report.Pause, Listen: 2 * s.Settle, Learn: true,
			}.WithPatience(timing.referencePatience))
			if err == nil {
				s.learnt[i] = *seen
			}
			return err
		})
	}
	group.Go(func() (err error) {
		fresh, err = s.fresh(both, s.base)
		return err
	})
	err = group.Wait()
	return fresh, err
}

// withoutOwn returns the results of the runs without faults, except for objects that the operator also creates without custom
// resources. These remain when all custom resources are deleted, because they do not belong to any.
func (s *session) withoutOwn(ctx context.Context, fresh map[string]runlog.Trace) (oracle.References, []finding.Finding, error) {
	s.at("running the operator without custom resources")
	idle, err := s.stage.Carry(ctx, testplan.Plan{Name: "idle", Workload: workload.Workload{Name: "idle", Steps: []workload.Step{{Name: "idle"}}}}, runner.Pace{
		Unsure: idleFor * s.Settle, Quiet: idleFor * s.Settle, Settle: idleFor * s.Settle, Learn: true,
	}.WithPatience(timing.referencePatience))
	if err != nil {
		return oracle.References{}, nil, err
	}
	return oracle.Reference(s.base, s.runs(fresh, idle))
}

// runs returns the runs without faults. idle is nil if there was none without custom resources.
func (s *session) runs(fresh map[string]runlog.Trace, idle *runlog.Trace) oracle.Runs {
	return oracle.Runs{Traces: s.learnt, Fresh: fresh, History: s.history, Maps: s.maps, Idle: idle, Accepted: s.Accept.Accepts}
}

// idleFor is the factor by which an operator must be quiescent longer without custom resources: it may do its own work later.
const idleFor = 15

// fresh executes the runs with which the steps of a workload are compared: their objects in separate namespaces.
func (s *session) fresh(ctx context.Context, w workload.Workload) (map[string]runlog.Trace, error) {
	all := map[string]runlog.Trace{}
	for step, alone := range oracle.Fresh(w) {
		seen, err := s.stage.Carry(ctx, testplan.Plan{Name: alone.Name, Workload: alone}, runner.Pace{
			Unsure: s.Settle, Settle: s.Settle, Pause: s.report.Pause, Rhythm: s.refs.Rhythm(), Learn: true,
		}.WithPatience(timing.referencePatience))
		if err != nil {
			return nil, err
		}
		all[step] = *seen
	}
	return all, nil
}

func pause(ctx context.Context, while time.Duration) error {
	timer := time.NewTimer(while)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
