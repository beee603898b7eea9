package report

import (
	"time"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
)

// Format is the format name of a report as JSON.
const Format = "operon-report/1"

// Report contains what was done with an operator, and the results. Outputs keep the order of its
// lists: the most important finding and the first run come first.
type Report struct {
	// Format is [Format]. [JSON] sets it if it is empty.
	Format   string   `json:"format"`
	Operator Operator `json:"operator"`
	// Cluster is the version of Kubernetes, such as v1.37.2.
	Cluster string `json:"cluster,omitempty"`
	// Started and Took are the start and the duration in nanoseconds of the whole session, including runs without faults.
	Started time.Time     `json:"started"`
	Took    time.Duration `json:"took"`
	// Budget is the time limit. 0 means no limit.
	Budget time.Duration `json:"budget,omitempty"`
	// Seed is the seed of the choice between equal alternatives.
	Seed int64 `json:"seed"`
	// Pause is how long the operator is given in each step to continue after a pause, because it does not react to each change at once. 0 means
	// that it does.
	Pause time.Duration `json:"pause,omitempty"`
	// Plans counts them.
	Plans Plans `json:"plans"`
	// Checked contains the properties that were checked. The properties without a finding held.
	Checked []finding.Property `json:"checked,omitempty"`
	// Runs contains one run for each executed plan.
	Runs []Run `json:"runs"`
	// Findings contains one finding for each Key.
	Findings []finding.Finding `json:"findings"`
	// Timelines shows findings beside a run without faults, by Key. A finding may have
	// no timeline.
	Timelines []Timeline `json:"timelines,omitempty"`
	// Rights is nil if permissions were not requested.
	Rights *Rights `json:"rights,omitempty"`
	// Interrupted means that the session ended before all plans that fit into the budget were executed.
	Interrupted bool `json:"interrupted,omitempty"`
	// Notes contains sentences about what was not covered: "the operator's kinds have no namespace: one
	// plan at a time".
	Notes []string `json:"notes,omitempty"`
}

// Operator is the operator that was tested.
type Operator struct {
	Name string `json:"name"`
	// Command is the command that started it. It is empty for a manager in a test.
	Command []string `json:"command,omitempty"`
}

// Plans counts plans.
type Plans struct {
	// Planned is the number of plans that were worth a run. Run is the number of executed plans.
	Planned int `json:"planned"`
	Run     int `json:"run"`
	// Skipped is the number of plans that were not executed because of the time limit.
	Skipped int `json:"skipped,omitempty"`
	// Void is the number of executed plans whose fault was not injected.
	Void int `json:"void,omitempty"`
	// Aborted is the number of plans whose run could not be completed. They are not part of Run.
	Aborted int `json:"aborted,omitempty"`
}

// Verdict is the result of a run.
type Verdict string

// Verdicts.
const (
	// Passed means that every property held.
	Passed Verdict = "passed"
	// Failed means that a property did not hold, and did not hold in a second run.
	Failed Verdict = "failed"
	// Flaky means that a property did not hold, but held in further runs.
	Flaky Verdict = "flaky"
	// Void means that the fault was not injected, so the run shows nothing.
	Void Verdict = "void"
	// Aborted means that the run could not be completed, for example because the API server did not respond.
	Aborted Verdict = "aborted"
)

// Run is one executed plan.
type Run struct {
	// Plan is the name of the plan. Why is the reason for choosing it.
	Plan string `json:"plan"`
	Why  string `json:"why,omitempty"`
	// Faults contains the faults of the plan. It is empty if only the workload was tested.
	Faults  []fault.Fault `json:"faults,omitempty"`
	Took    time.Duration `json:"took"`
	Verdict Verdict       `json:"verdict"`
	// Findings contains the Keys of the findings that the run shows.
	Findings []string `json:"findings,omitempty"`
	// Problem is the reason why the run could not be completed.
	Problem string `json:"problem,omitempty"`
}

// Rights contains what the runs show about the operator's permissions.
type Rights struct {
	// Needed contains the Roles with exactly the needed permissions, as YAML.
	Needed string `json:"needed,omitempty"`
	// Undeclared means that no permissions of the operator are declared, so that every request was allowed.
	Undeclared bool `json:"undeclared,omitempty"`
	// Missing contains the permissions that were missing. Unused contains the permissions that were granted and never used.
	// Each permission is one line.
	Missing []string `json:"missing,omitempty"`
	Unused  []string `json:"unused,omitempty"`
}

// Timeline shows a finding: the run in which it was found, and a run without faults.
type Timeline struct {
	// Key is the Key of the finding.
	Key     string `json:"key"`
	Failing Course `json:"failing"`
	// Reference is nil if the finding does not need one.
	Reference *Course `json:"reference,omitempty"`
}

// Course contains the relevant parts of one run, without the objects themselves. [CourseOf]
// creates it from a trace.
type Course struct {
	Started  time.Time            `json:"started"`
	Took     time.Duration        `json:"took"`
	Steps    []Step               `json:"steps"`
	Requests []requestlog.Request `json:"requests"`
	Changes  []runlog.Change      `json:"changes"`
	Exits    []runlog.Exit        `json:"exits,omitempty"`
	Struck   []fault.Fault        `json:"struck,omitempty"`
	// Cut is the number of requests and changes that were omitted because there were too many. Requests
	// that show nothing (discovery, leases, events) are omitted and not counted.
	Cut int `json:"cut,omitempty"`
}

// Step is a step of the workload in a [Course].
type Step struct {
	Name string        `json:"name"`
	At   time.Time     `json:"at"`
	Took time.Duration `json:"took"`
	// Silent means that the operator became silent. If it did not, Why describes the activity.
	Silent bool   `json:"silent"`
	Why    string `json:"why,omitempty"`
}
