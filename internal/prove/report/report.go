package report

import (
	"time"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
)

// Format is that of a report as JSON.
const Format = "operon-report/1"

// Report is what was done with an operator, and what came of it. Outputs show its lists in the
// order in which they are: the most important finding and the first run come first.
type Report struct {
	// Format is [Format]; [JSON] writes it where it is empty.
	Format   string   `json:"format"`
	Operator Operator `json:"operator"`
	// Cluster is the version of its Kubernetes: v1.37.2.
	Cluster string `json:"cluster,omitempty"`
	// Started and Took are of everything, in nanoseconds, runs without faults among it.
	Started time.Time     `json:"started"`
	Took    time.Duration `json:"took"`
	// Budget is the time that there was, 0 where it was not limited.
	Budget time.Duration `json:"budget,omitempty"`
	// Seed is what chose between equals.
	Seed int64 `json:"seed"`
	// Plans counts them.
	Plans Plans `json:"plans"`
	// Checked are the properties that were judged: those without a finding held.
	Checked []finding.Property `json:"checked,omitempty"`
	// Runs are those of the plans that were executed, one for each.
	Runs []Run `json:"runs"`
	// Findings are what is wrong, one for each Key.
	Findings []finding.Finding `json:"findings"`
	// Timelines show findings beside a run without faults, found by their Key. A finding need not
	// have one.
	Timelines []Timeline `json:"timelines,omitempty"`
	// Rights are nil where nobody asked for them.
	Rights *Rights `json:"rights,omitempty"`
	// Interrupted: it was ended before all was done that there was time for.
	Interrupted bool `json:"interrupted,omitempty"`
	// Notes say what was not covered, in sentences: "the operator's kinds have no namespace: one
	// plan at a time".
	Notes []string `json:"notes,omitempty"`
}

// Operator is what was tested.
type Operator struct {
	Name string `json:"name"`
	// Command started it, empty for a manager in a test.
	Command []string `json:"command,omitempty"`
}

// Plans counts plans.
type Plans struct {
	// Planned are all that were worth a run, Run those that had one.
	Planned int `json:"planned"`
	Run     int `json:"run"`
	// Skipped are those that there was no time for.
	Skipped int `json:"skipped,omitempty"`
	// Void are those, of Run, in which the fault did not strike.
	Void int `json:"void,omitempty"`
}

// Verdict is what came of a run.
type Verdict string

// Verdicts.
const (
	// Passed: every property held.
	Passed Verdict = "passed"
	// Failed: one did not, and in a second run neither.
	Failed Verdict = "failed"
	// Flaky: one did not, and did in further runs.
	Flaky Verdict = "flaky"
	// Void: the fault did not strike, so that nothing is known.
	Void Verdict = "void"
)

// Run is one plan, executed.
type Run struct {
	// Plan is its name, and Why what made it promising.
	Plan string `json:"plan"`
	Why  string `json:"why,omitempty"`
	// Faults are the plan's, none where the workload alone was the test.
	Faults  []fault.Fault `json:"faults,omitempty"`
	Took    time.Duration `json:"took"`
	Verdict Verdict       `json:"verdict"`
	// Findings are the Keys of what it showed.
	Findings []string `json:"findings,omitempty"`
}

// Rights are what the runs tell of the operator's permissions.
type Rights struct {
	// Needed are the Roles that are enough, as YAML.
	Needed string `json:"needed,omitempty"`
	// Undeclared: nobody said what the operator may do, so that it might do anything.
	Undeclared bool `json:"undeclared,omitempty"`
	// Missing are permissions that were refused, Unused those that were granted and never used,
	// each in a line.
	Missing []string `json:"missing,omitempty"`
	Unused  []string `json:"unused,omitempty"`
}

// Timeline shows a finding: the run in which it was found, and one without faults.
type Timeline struct {
	// Key is the finding's.
	Key     string `json:"key"`
	Failing Course `json:"failing"`
	// Reference is nil where the finding needs none.
	Reference *Course `json:"reference,omitempty"`
}

// Course is what happened in one run, cut to what matters, without the objects themselves. [CourseOf]
// makes it of a trace.
type Course struct {
	Started  time.Time            `json:"started"`
	Took     time.Duration        `json:"took"`
	Steps    []Step               `json:"steps"`
	Requests []requestlog.Request `json:"requests"`
	Changes  []runlog.Change      `json:"changes"`
	Exits    []runlog.Exit        `json:"exits,omitempty"`
	Struck   []fault.Fault        `json:"struck,omitempty"`
	// Cut is how many requests and changes were left out because there were too many. Requests
	// that show nothing (discovery, leases, events) are left out and not counted.
	Cut int `json:"cut,omitempty"`
}

// Step is one of the workload, in a [Course].
type Step struct {
	Name string        `json:"name"`
	At   time.Time     `json:"at"`
	Took time.Duration `json:"took"`
	// Silent: the operator became silent. Where it did not, Why says what went on.
	Silent bool   `json:"silent"`
	Why    string `json:"why,omitempty"`
}
