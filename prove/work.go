package prove

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/oracle"
	"github.com/operon-framework/operon/internal/prove/report"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/runner"
	"github.com/operon-framework/operon/internal/prove/testplan"
)

// work executes plans until none is left, or the budget is used up.
func (s *session) work(ctx context.Context, plans []testplan.Plan) error {
	s.until = time.Now().Add(s.Budget)
	s.left = len(plans)
	queue := make(chan testplan.Plan)
	group, ctx := errgroup.WithContext(ctx)
	s.whole = ctx
	starting, enough := context.WithCancel(ctx)
	defer enough()
	s.enough = enough
	group.Go(func() error {
		defer close(queue)
		return s.feed(starting, queue, plans)
	})
	for range s.Workers {
		group.Go(func() error {
			for p := range queue {
				err := s.try(starting, p)
				if err != nil && starting.Err() != nil && ctx.Err() == nil {
					return nil // another run has shown a failure, and no further one is wanted
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	s.report.Interrupted = err != nil
	return err
}

// feed hands out plans until the time is up.
func (s *session) feed(ctx context.Context, queue chan<- testplan.Plan, plans []testplan.Plan) error {
	timer := time.NewTimer(time.Until(s.until))
	defer timer.Stop()
	if s.FailFast && s.failed() { // without faults
		s.report.Plans.Skipped = len(plans)
		return nil
	}
	for i, p := range plans {
		select {
		case queue <- p:
			s.tell(p)
		case <-timer.C:
			s.report.Plans.Skipped = len(plans) - i
			return nil
		case <-ctx.Done():
			s.report.Plans.Skipped = len(plans) - i
			return context.Cause(s.whole)
		}
	}
	return nil
}

// failed reports whether a failure was found and confirmed.
func (s *session) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.found {
		if !f.Flaky && f.Fails() {
			return true
		}
	}
	return false
}

// tell reports the progress.
func (s *session) tell(p testplan.Plan) {
	s.mu.Lock()
	now := report.Standing{
		Now: time.Now(), Began: s.until.Add(-s.Budget), Until: s.until,
		Planned: s.left, Done: s.done, Findings: len(s.found), At: p.Name,
	}
	s.mu.Unlock()
	s.Observe(now)
}

// tries is the maximum number of attempts to reproduce the finding of a plan file: the outcome of a race varies.
const tries = 3

// try executes a plan. A plan from a file is repeated until it shows its finding.
func (s *session) try(ctx context.Context, p testplan.Plan) error {
	if err := s.once(ctx, p, runner.Pace{}); err != nil || s.replayed == nil || s.replayed.Finding == "" {
		return err
	}
	for again := 1; again < tries && !s.repeated(); again++ {
		if err := s.once(ctx, p, s.patient()); err != nil {
			return err
		}
	}
	return nil
}

// repeated reports whether the finding of the repeated file was reproduced.
func (s *session) repeated() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found[s.replayed.Finding] != nil
}

// once executes a plan, judges the run, and confirms new findings.
func (s *session) once(ctx context.Context, p testplan.Plan, pace runner.Pace) error {
	began := time.Now()
	run := report.Run{Plan: p.Name, Why: p.Why, Faults: p.Faults, Verdict: report.Passed}
	seen, findings, err := s.carry(ctx, p, pace)
	if err != nil {
		if !s.tolerates(ctx, began, err) {
			return err
		}
		run.Verdict, run.Took, run.Problem = report.Aborted, time.Since(began), err.Error()
		s.ran(run)
		s.tell(p)
		return nil
	}
	run.Took = seen.Took
	if len(p.Faults) > 0 && len(seen.Struck) == 0 {
		run.Verdict = report.Void
	}
	verdicts, err := s.sure(ctx, p, findings, seen)
	if err != nil {
		return err
	}
	for i, f := range findings {
		run.Findings = append(run.Findings, f.Key())
		if f.Fails() && run.Verdict != report.Failed {
			run.Verdict = verdicts[i]
		}
	}
	s.ran(run)
	s.tell(p)
	return nil
}

// carry executes a plan and judges the run.
func (s *session) carry(ctx context.Context, p testplan.Plan, pace runner.Pace) (*runlog.Trace, []finding.Finding, error) {
	refs := s.refs
	if p.Workload.Name != s.base.Name {
		fresh, err := s.fresh(ctx, p.Workload)
		if err != nil {
			return nil, nil, err
		}
		refs = refs.For(p.Workload, fresh)
	}
	seen, err := s.stage.Carry(ctx, p, s.paced(refs, pace))
	if err != nil {
		return nil, nil, err
	}
	s.outage.over()
	s.uses(seen)
	findings := oracle.Judge(refs, p, *seen)
	if p.Workload.Name != s.base.Name && slices.ContainsFunc(findings, differsFromFresh) {
		again, err := s.fresh(ctx, p.Workload)
		if err != nil {
			return nil, nil, err
		}
		refs = refs.Learn(again)
		findings = oracle.Judge(refs, p, *seen)
	}
	if err := s.withDeclined(ctx, refs, p, findings); err != nil {
		return nil, nil, err
	}
	for i := range findings {
		if guessed(p.Workload, findings[i].Step, s.isGuess(s.worked())) {
			findings[i].Level = finding.Note
		}
	}
	s.Accept.Mark(findings)
	return seen, findings, nil
}

// differsFromFresh reports whether a finding may be about content that is random in each run.
func differsFromFresh(f finding.Finding) bool { return f.Property == finding.SameFresh && f.Fails() }

// paced returns a pace with what is known from runs without faults.
func (s *session) paced(refs oracle.References, pace runner.Pace) runner.Pace {
	pace.Rhythm, pace.Pause = refs.Rhythm(), s.report.Pause
	pace.Reached, pace.Knows, pace.Unsure = refs.Reached, refs.Knows, max(pace.Unsure, s.Settle)
	return pace
}

// tolerates reports whether the session continues although a run could not be completed. It does not if the run was canceled, if a plan file
// is replayed, or after several such runs in a row.
func (s *session) tolerates(ctx context.Context, began time.Time, err error) bool {
	return s.replayed == nil && !errors.Is(err, context.Canceled) && ctx.Err() == nil && s.whole.Err() == nil && s.outage.ends(began)
}

// patient returns the pace of a run that confirms a finding: an operator may need more time.
func (s *session) patient() runner.Pace {
	return runner.Pace{Quiet: s.Settle, Settle: 10 * s.Settle, Unsure: 3 * s.Settle, Pause: s.report.Pause}.WithPatience(time.Minute)
}

// sure confirms the findings of a run by running its plan again, with more patience, until they show twice, and returns a verdict for each. The first
// time, the plan ends after the steps of the findings, because what follows takes time and seldom matters.
// A finding that another plan has already confirmed is only counted, and one that is accepted needs no confirmation.
func (s *session) sure(ctx context.Context, p testplan.Plan, findings []finding.Finding, seen *runlog.Trace) ([]report.Verdict, error) {
	verdicts := make([]report.Verdict, len(findings))
	var open []int // the findings to confirm
	for i, f := range findings {
		f.Plan, verdicts[i] = &p, report.Failed
		switch {
		case s.known(f):
		case s.replayed != nil || f.Accepted != "":
			s.confirmed(f, seen)
		default:
			open = append(open, i)
		}
	}
	runs := 1
	brief := testplan.Until(p, stepsOf(findings, open))
	all := []testplan.Plan{brief, p}
	if len(brief.Workload.Steps) < len(p.Workload.Steps) {
		all = append(all, p)
	}
	for _, one := range all {
		if len(open) == 0 {
			break
		}
		began := time.Now()
		again, shown, err := s.carry(ctx, one, s.patient())
		if err != nil {
			if s.tolerates(ctx, began, err) {
				continue
			}
			if s.whole.Err() != nil || !errors.Is(err, context.Canceled) { // not because another run has shown a failure
				s.unconfirmed(p, findings, open, runs, seen)
			}
			return nil, err
		}
		runs++
		var left []int
		for _, i := range open {
			at := slices.IndexFunc(shown, func(other finding.Finding) bool { return other.Key() == findings[i].Key() })
			if at < 0 {
				left = append(left, i)
				continue
			}
			f := shown[at]
			f.Plan = &one
			ctx = s.shown(ctx, f, again)
		}
		open = left
	}
	s.unconfirmed(p, findings, open, runs, seen)
	for _, i := range open {
		verdicts[i] = report.Flaky
	}
	return verdicts, nil
}

// unconfirmed records findings that a plan showed once in a number of runs, also if the session ends before more of them.
func (s *session) unconfirmed(p testplan.Plan, findings []finding.Finding, open []int, runs int, seen *runlog.Trace) {
	for _, i := range open {
		f := findings[i]
		f.Plan, f.Flaky, f.Seen, f.Runs = &p, true, 1, runs
		s.confirmed(s.weighed(f), seen)
	}
}

// shown records a finding that showed twice, with the smallest plan that shows it. It returns the context of what follows: after the first
// failure, other runs end if only one is wanted.
func (s *session) shown(ctx context.Context, f finding.Finding, seen *runlog.Trace) context.Context {
	if !s.FailFast || !f.Fails() {
		f, seen = s.shrunk(ctx, f, seen)
		s.confirmed(f, seen)
		return ctx
	}
	s.enough() // the processors are free for what follows
	if !s.failed() {
		f, seen = s.shrunk(s.whole, f, seen)
	}
	s.confirmed(f, seen)
	return s.whole
}

// stepsOf returns the names of the steps of some findings.
func stepsOf(findings []finding.Finding, some []int) []string {
	var names []string
	for _, i := range some {
		names = append(names, findings[i].Step)
	}
	return names
}

// shrunk searches for a smaller plan that shows the same finding.
func (s *session) shrunk(ctx context.Context, f finding.Finding, seen *runlog.Trace) (finding.Finding, *runlog.Trace) {
	for until := time.Now().Add(timing.shrinkFor); time.Now().Before(until); {
		smaller, trace, ok := s.smaller(ctx, f, until)
		if !ok {
			break
		}
		f, seen = smaller, trace
	}
	return f, seen
}

// smaller tries the plans that are smaller than a finding's plan, until one shows it. If no other plans are run meanwhile, several are
// tried at a time.
func (s *session) smaller(ctx context.Context, f finding.Finding, until time.Time) (finding.Finding, *runlog.Trace, bool) {
	side := 1
	if s.FailFast {
		side = s.Workers
	}
	for some := range slices.Chunk(testplan.Smaller(*f.Plan), side) {
		if time.Now().After(until) {
			break
		}
		shown := make([]*finding.Finding, len(some))
		traces := make([]*runlog.Trace, len(some))
		var group errgroup.Group
		for i, p := range some {
			group.Go(func() (err error) {
				shown[i], traces[i], err = s.shows(ctx, p, f.Key())
				return err
			})
		}
		if group.Wait() != nil {
			break // keep the finding unchanged: the next run reports the error
		}
		if i := slices.IndexFunc(shown, func(one *finding.Finding) bool { return one != nil }); i >= 0 {
			return *shown[i], traces[i], true
		}
	}
	return f, nil, false
}

// shows executes a plan, and returns the finding with a key if it shows it.
func (s *session) shows(ctx context.Context, p testplan.Plan, key string) (*finding.Finding, *runlog.Trace, error) {
	seen, findings, err := s.carry(ctx, p, runner.Pace{})
	if err != nil {
		return nil, nil, err
	}
	for _, one := range findings {
		if one.Key() == key {
			one.Plan = &p
			return &one, seen, nil
		}
	}
	return nil, nil, nil
}

// weighed makes a flaky finding a note if it only says that something did not happen in time: a slow machine may have been
// the reason.
func (s *session) weighed(f finding.Finding) finding.Finding {
	if f.Flaky && s.waits(f) {
		f.Level = finding.Note
	}
	return f
}

// waits reports whether a finding only says that something did not happen in time.
func (s *session) waits(f finding.Finding) bool {
	switch f.Property {
	case finding.SameState, finding.SameFresh, finding.Restored, finding.NothingLeft, finding.Deletable, finding.Silent, finding.Truthful:
		return true
	}
	return false
}

// flakyPlans is the maximum number of plans by which a flaky finding is confirmed: another fault may show every time what the first one
// showed once.
const flakyPlans = 4

// known reports whether a finding that a plan has shown needs no further confirmation, and counts the plan if so.
func (s *session) known(one finding.Finding) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.found[one.Key()]
	if f == nil || f.Flaky && f.Also+1 < flakyPlans || !f.Flaky && outweighs(&one, f) {
		return false
	}
	f.Also++
	return true
}

// outweighs reports whether a finding is a failure while the known one with the same key is a note.
func outweighs(one, known *finding.Finding) bool { return one.Fails() && !known.Fails() }

// confirmed adds a finding with the run that shows it. A finding that showed twice takes the place of a flaky one, and a failure that of a note.
func (s *session) confirmed(f finding.Finding, seen *runlog.Trace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.found[f.Key()]; known != nil {
		f.Also = known.Also + 1
		if f.Flaky || !known.Flaky && !outweighs(&f, known) {
			known.Also = f.Also
			return
		}
	}
	s.found[f.Key()] = &f
	s.show(f, seen)
}

// show adds the timeline of a finding to the report, in place of an earlier one.
func (s *session) show(f finding.Finding, seen *runlog.Trace) {
	s.report.Timelines = slices.DeleteFunc(s.report.Timelines, func(t report.Timeline) bool { return t.Key == f.Key() })
	if seen == nil {
		return
	}
	line := report.Timeline{Key: f.Key(), Failing: *report.CourseOf(seen)}
	if len(s.learnt) > 0 && seen != &s.learnt[0] {
		line.Reference = report.CourseOf(&s.learnt[0])
	}
	s.report.Timelines = append(s.report.Timelines, line)
}

// ran records a run.
func (s *session) ran(run report.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done++
	s.report.Runs = append(s.report.Runs, run)
	switch run.Verdict {
	case report.Aborted:
		s.report.Plans.Aborted++
		return
	case report.Void:
		s.report.Plans.Void++
	}
	s.report.Plans.Run++
}

// finish completes the report.
func (s *session) finish() error {
	err := s.judgeRights()
	s.report.Took = time.Since(s.report.Started)
	for _, check := range oracle.Checks() {
		if s.restless() {
			break // properties that are checked when the operator is silent were not checked
		}
		if !slices.Contains(s.report.Checked, check.Property) {
			s.report.Checked = append(s.report.Checked, check.Property)
		}
	}
	s.report.Notes = append(s.report.Notes, s.Accept.Unseen()...)
	for _, f := range s.found {
		s.report.Findings = append(s.report.Findings, *f)
	}
	slices.SortFunc(s.report.Findings, func(a, b finding.Finding) int {
		return cmp.Or(
			compareBools(!a.Fails(), !b.Fails()),
			compareBools(a.Flaky, b.Flaky),
			cmp.Compare(slices.Index(s.report.Checked, a.Property), slices.Index(s.report.Checked, b.Property)),
			cmp.Compare(a.Key(), b.Key()),
		)
	})
	return err
}

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
