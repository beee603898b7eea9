package report

import (
	"slices"
	"time"

	"github.com/operon-framework/operon/internal/prove/finding"
)

// medianRun returns the median duration of the runs that were completed.
func (r *Report) medianRun() time.Duration {
	var all []time.Duration
	for _, run := range r.Runs {
		if run.Verdict != Aborted {
			all = append(all, run.Took)
		}
	}
	return median(all)
}

// Failures returns the number of findings that are failures and not accepted.
func (r *Report) Failures() int {
	return r.count(func(f *finding.Finding) bool { return f.Fails() })
}

// flaky returns the number of failures that did not occur in a second run.
func (r *Report) flaky() int {
	return r.count(func(f *finding.Finding) bool { return f.Fails() && f.Flaky })
}

// accepted returns the number of accepted findings. notes returns the number of other findings that are not failures.
func (r *Report) accepted() int {
	return r.count(func(f *finding.Finding) bool { return f.Accepted != "" })
}

func (r *Report) notes() int {
	return r.count(func(f *finding.Finding) bool { return !f.Fails() && f.Accepted == "" })
}

func (r *Report) count(is func(*finding.Finding) bool) int {
	n := 0
	for i := range r.Findings {
		if is(&r.Findings[i]) {
			n++
		}
	}
	return n
}

// held returns the properties that were checked and have no finding.
func (r *Report) held() []finding.Property {
	var all []finding.Property
	for _, p := range r.Checked {
		if !slices.ContainsFunc(r.Findings, func(f finding.Finding) bool { return f.Property == p }) {
			all = append(all, p)
		}
	}
	return all
}

// byKey returns the index of a finding, or -1 if there is no such finding.
func (r *Report) byKey(key string) int {
	return slices.IndexFunc(r.Findings, func(f finding.Finding) bool { return f.Key() == key })
}

// suite contains the runs with faults of one class.
type suite struct {
	Class string
	// Runs contains the indexes of the runs in the report.
	Runs []int
}

// suites groups runs by the class of their faults, the largest group first.
func (r *Report) suites() []suite {
	var all []suite
	for i, run := range r.Runs {
		class := FaultClass(run.Faults)
		at := slices.IndexFunc(all, func(s suite) bool { return s.Class == class })
		if at < 0 {
			at = len(all)
			all = append(all, suite{Class: class})
		}
		all[at].Runs = append(all[at].Runs, i)
	}
	slices.SortStableFunc(all, func(a, b suite) int { return len(b.Runs) - len(a.Runs) })
	return all
}

// orphans returns the indexes of the findings that no run of the report shows: findings of runs without
// faults, and findings about permissions.
func (r *Report) orphans() []int {
	shown := map[string]bool{}
	for _, run := range r.Runs {
		for _, key := range run.Findings {
			shown[key] = true
		}
	}
	var all []int
	for i := range r.Findings {
		if !shown[r.Findings[i].Key()] {
			all = append(all, i)
		}
	}
	return all
}

// timeline returns the timeline of a finding, or nil if it does not have one.
func (r *Report) timeline(key string) *Timeline {
	for i := range r.Timelines {
		if r.Timelines[i].Key == key {
			return &r.Timelines[i]
		}
	}
	return nil
}
