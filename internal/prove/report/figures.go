package report

import (
	"slices"
	"time"

	"github.com/operon-framework/operon/internal/prove/finding"
)

// medianRun is how long a plan took, the middle one.
func (r *Report) medianRun() time.Duration {
	var all []time.Duration
	for _, run := range r.Runs {
		all = append(all, run.Took)
	}
	return median(all)
}

// Failures is the number of findings that are failures and not accepted.
func (r *Report) Failures() int {
	return r.count(func(f *finding.Finding) bool { return f.Fails() })
}

// flaky counts failures that a second run did not show.
func (r *Report) flaky() int {
	return r.count(func(f *finding.Finding) bool { return f.Fails() && f.Flaky })
}

// accepted counts the findings that are accepted, and notes the others that do not fail.
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

// held are the properties that were judged and have no finding.
func (r *Report) held() []finding.Property {
	var all []finding.Property
	for _, p := range r.Checked {
		if !slices.ContainsFunc(r.Findings, func(f finding.Finding) bool { return f.Property == p }) {
			all = append(all, p)
		}
	}
	return all
}

// byKey returns the place of a finding, -1 where there is none.
func (r *Report) byKey(key string) int {
	return slices.IndexFunc(r.Findings, func(f finding.Finding) bool { return f.Key() == key })
}

// suite are the runs whose faults are of one class.
type suite struct {
	Class string
	// Runs are their places in the report.
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

// orphans are the places of findings that no run of the report shows: those of runs without
// faults, and those of the rights.
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

// timeline returns that of a finding, nil where there is none.
func (r *Report) timeline(key string) *Timeline {
	for i := range r.Timelines {
		if r.Timelines[i].Key == key {
			return &r.Timelines[i]
		}
	}
	return nil
}
