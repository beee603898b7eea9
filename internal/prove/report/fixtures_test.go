package report_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/report"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/testplan"
	"github.com/operon-framework/operon/internal/prove/workload"
)

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// kinds maps the resources in written traces to their kinds.
var kinds = map[string]string{
	"caches": "Cache", "configmaps": "ConfigMap", "services": "Service", "statefulsets": "StatefulSet",
	"persistentvolumeclaims": "PersistentVolumeClaim", "pods": "Pod", "secrets": "Secret", "leases": "Lease",
}

// written builds a trace from lines. Each line begins with the time since the start:
//
//	0ms    step create 1.2s
//	4ms    create configmaps/demo 201 changed ! kill after the effect on create configmaps #1
//	6ms    ADDED configmaps/demo
//	9ms    exit 9ms
//
// The text after the duration of a step is the reason why it did not become silent.
func written(t *testing.T, took time.Duration, text string) *runlog.Trace {
	t.Helper()
	run := &runlog.Trace{Namespace: "prove-1", Started: began, Took: took}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		line, struck, _ := strings.Cut(line, " ! ")
		words := strings.Fields(line)
		at, err := time.ParseDuration(words[0])
		if err != nil || len(words) < 3 {
			t.Fatalf("%q: %v", line, err)
		}
		moment := began.Add(at)
		switch words[1] {
		case "step":
			took, _ := time.ParseDuration(words[3])
			why := strings.Join(words[4:], " ")
			run.Steps = append(run.Steps, runlog.Step{Name: words[2], At: moment, Took: took, Silent: why == "", Why: why})
		case "exit":
			after, _ := time.ParseDuration(words[2])
			run.Exits = append(run.Exits, runlog.Exit{At: moment, After: after, Asked: true, Code: -1, Signal: "killed"})
		case "ADDED", "MODIFIED", "DELETED":
			resource, name, _ := strings.Cut(words[2], "/")
			run.Changes = append(run.Changes, runlog.Change{
				At: moment, Type: words[1], Kind: kinds[resource], Resource: resource, Name: name, UID: name, Manager: "cache-operator",
			})
		default:
			r := asked(moment, int64(len(run.Requests)+1), words[1:])
			r.Fault = struck
			run.Requests = append(run.Requests, r)
		}
	}
	return run
}

func asked(at time.Time, seq int64, words []string) requestlog.Request {
	path := strings.Split(words[1], "/")
	r := requestlog.Request{Seq: seq, At: at, Took: 2 * time.Millisecond, Verb: words[0], Resource: path[0], Version: "v1", Namespace: "prove-1", Body: "0123456789abcdef"}
	if len(path) > 1 {
		r.Name = path[1]
	}
	if len(path) > 2 {
		r.Subresource = path[2]
	}
	served, got, cut := strings.Cut(words[2], "→")
	r.Served, _ = strconv.Atoi(served)
	if r.Status = r.Served; cut {
		r.Status, _ = strconv.Atoi(got)
	}
	if len(words) > 3 {
		r.Effect = requestlog.Effect(words[3])
	}
	return r
}

// base returns the fields that are the same in all reports.
func base() report.Report {
	return report.Report{
		Operator: report.Operator{Name: "cache-operator", Command: []string{"./bin/manager", "--leader-elect"}},
		Cluster:  "v1.37.2", Started: began, Took: 118 * time.Second, Budget: 2 * time.Minute, Seed: 7,
		Checked: []finding.Property{
			finding.SameState, finding.SameFresh, finding.NothingLeft, finding.DataKept, finding.Silent, finding.Truthful, finding.Alive,
		},
		Notes: []string{"the operator's webhooks are off: their configuration was not applied"},
	}
}

// withRuns adds runs: one without a fault, and others with kills, conflicts and other faults at some writes.
func withRuns(r report.Report, n int) report.Report {
	writes := []fault.Match{
		{Verb: "create", Resource: "configmaps", Name: "demo-a"}, {Verb: "create", Resource: "services", Name: "demo"},
		{Verb: "create", Resource: "statefulsets", Name: "demo"}, {Verb: "patch", Resource: "caches/status", Name: "demo"},
	}
	kindsOf := []fault.Fault{
		{Kind: fault.Kill, Moment: fault.Effect}, {Kind: fault.Kill, Moment: fault.Before}, {Kind: fault.Conflict}, {Kind: fault.Kill, Moment: fault.Answer},
		{Kind: fault.TimeOut, Moment: fault.Effect}, {Kind: fault.Throttle}, {Kind: fault.Cut, Moment: fault.Effect},
	}
	r.Runs = append(r.Runs, report.Run{Plan: "sample", Why: "without a fault", Took: 900 * time.Millisecond, Verdict: report.Passed})
	for i := 1; i < n; i++ {
		f := kindsOf[i%len(kindsOf)]
		f.On = writes[i%len(writes)]
		f.On.Nth = 1 + i/len(kindsOf)
		run := report.Run{
			Plan: f.String() + " | sample", Why: "the next decision follows this write", Faults: []fault.Fault{f},
			Took: time.Duration(900+37*(i%19)) * time.Millisecond, Verdict: report.Passed,
		}
		if i%29 == 5 {
			run.Verdict = report.Void
			r.Plans.Void++
		}
		r.Runs = append(r.Runs, run)
	}
	r.Plans.Planned, r.Plans.Run = n, n
	return r
}

// shows marks a run as showing a finding.
func shows(r *report.Report, run int, verdict report.Verdict, f finding.Finding) {
	r.Runs[run].Verdict = verdict
	r.Runs[run].Findings = append(r.Runs[run].Findings, f.Key())
	if f.Plan != nil {
		r.Runs[run].Faults, r.Runs[run].Plan = f.Plan.Faults, f.Plan.Name
	}
}

func sample() workload.Workload {
	return workload.Workload{Name: "sample", Steps: []workload.Step{
		{Name: "create", Apply: []*unstructured.Unstructured{
			{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Cache", "metadata": map[string]any{"name": "demo"}, "spec": map[string]any{"size": int64(3)}}},
		}},
		{Name: "delete", Delete: []workload.Ref{{APIVersion: "example.com/v1", Kind: "Cache", Name: "demo"}}},
	}}
}

func of(kind, name string) *workload.Ref {
	return &workload.Ref{APIVersion: "v1", Kind: kind, Name: name}
}

const killed = "kill after the effect on create configmaps demo-a #1"

// intermediate returns a report in which the operator is killed between two writes and never executes the second.
func intermediate(t *testing.T) report.Report {
	r := withRuns(base(), 30)
	r.Plans.Planned, r.Plans.Skipped = 42, 12
	failing := written(t, 6*time.Second, `
		0ms    step create 4.1s
		310ms  get caches/demo 200
		318ms  list configmaps 200
		322ms  create configmaps/demo-a 201→0 changed ! `+killed+`
		324ms  ADDED configmaps/demo-a
		325ms  exit 318ms
		811ms  get caches/demo 200
		816ms  get configmaps/demo-a 200
		821ms  create services/demo 201 changed
		823ms  ADDED services/demo
		829ms  create statefulsets/demo 201 changed
		831ms  ADDED statefulsets/demo
		838ms  patch caches/demo/status 200 changed
		845ms  MODIFIED caches/demo
		1902ms MODIFIED statefulsets/demo
		1910ms patch caches/demo/status 200 changed
		1912ms MODIFIED caches/demo
		4100ms step delete 900ms
		4103ms MODIFIED caches/demo
		4110ms delete statefulsets/demo 200 changed
		4112ms DELETED statefulsets/demo
		4115ms delete services/demo 200 changed
		4116ms DELETED services/demo
		4120ms delete configmaps/demo-a 200 changed
		4121ms DELETED configmaps/demo-a
		4130ms update caches/demo 200 changed
		4132ms DELETED caches/demo`)
	reference := written(t, 4*time.Second, `
		0ms    step create 2.5s
		305ms  get caches/demo 200
		311ms  list configmaps 200
		315ms  create configmaps/demo-a 201 changed
		317ms  ADDED configmaps/demo-a
		322ms  create configmaps/demo-b 201 changed
		324ms  ADDED configmaps/demo-b
		331ms  create services/demo 201 changed
		333ms  ADDED services/demo
		338ms  create statefulsets/demo 201 changed
		340ms  ADDED statefulsets/demo
		346ms  patch caches/demo/status 200 changed
		352ms  MODIFIED caches/demo
		1410ms MODIFIED statefulsets/demo
		1418ms patch caches/demo/status 200 changed
		1421ms MODIFIED caches/demo
		2500ms step delete 900ms
		2503ms MODIFIED caches/demo
		2510ms delete statefulsets/demo 200 changed
		2512ms DELETED statefulsets/demo
		2515ms delete services/demo 200 changed
		2516ms DELETED services/demo
		2519ms delete configmaps/demo-b 200 changed
		2520ms DELETED configmaps/demo-b
		2523ms delete configmaps/demo-a 200 changed
		2524ms DELETED configmaps/demo-a
		2530ms update caches/demo 200 changed
		2532ms DELETED caches/demo`)
	p := testplan.Plan{
		Name: "kill after effect: create configmaps/demo-a | sample", Why: "the first of two writes that belong together", Workload: sample(),
		Faults: []fault.Fault{{Kind: fault.Kill, Moment: fault.Effect, On: fault.Match{Verb: "create", Resource: "configmaps", Name: "demo-a", Nth: 1, Times: 1}}},
	}
	f := finding.Finding{
		Property: finding.SameState, Class: finding.Intermediate, Step: "create", Of: of("ConfigMap", "demo-b"),
		Message: "a ConfigMap is missing that existed without faults",
		Diff: []finding.Difference{
			{Of: "ConfigMap/demo-b", Want: `{"apiVersion":"v1","data":{"mode":"replica","size":"64mb"},"kind":"ConfigMap","metadata":{"name":"demo-b"}}`},
			{Of: "Cache/demo", Path: "status.configs", Want: "2", Got: "1"},
			{Of: "StatefulSet/demo", Path: "metadata.annotations[config-hash]", Want: `"5f1c"`, Got: `"09aa"`},
		},
		Last: failing.Requests[:8], Plan: &p, Also: 3, File: "prove-report/01-same-state.plan.yaml",
	}
	r.Findings = []finding.Finding{f}
	shows(&r, 15, report.Failed, f)
	r.Timelines = []report.Timeline{{Key: f.Key(), Failing: *report.CourseOf(failing), Reference: report.CourseOf(reference)}}
	return r
}

// stale returns a report in which a second instance sees an earlier state and deletes a claim that is in use.
func stale(t *testing.T) report.Report {
	r := withRuns(base(), 12)
	failing := written(t, 5*time.Second, `
		0ms    step create 1.6s
		301ms  get caches/demo 200
		309ms  create persistentvolumeclaims/data-demo-0 201 changed
		311ms  ADDED persistentvolumeclaims/data-demo-0
		318ms  create statefulsets/demo 201 changed
		320ms  ADDED statefulsets/demo
		1600ms step recreate 2.4s
		1603ms DELETED caches/demo
		1650ms ADDED caches/demo
		1702ms list caches 200 ! hold caches on event caches #1
		1711ms delete persistentvolumeclaims/data-demo-0 200 changed
		1713ms DELETED persistentvolumeclaims/data-demo-0
		2402ms create persistentvolumeclaims/data-demo-0 201 changed
		2405ms ADDED persistentvolumeclaims/data-demo-0
		2600ms patch caches/demo/status 409 unchanged
		2610ms patch caches/demo/status 200 changed
		2611ms MODIFIED caches/demo`)
	reference := written(t, 4*time.Second, `
		0ms    step create 1.6s
		301ms  get caches/demo 200
		309ms  create persistentvolumeclaims/data-demo-0 201 changed
		311ms  ADDED persistentvolumeclaims/data-demo-0
		318ms  create statefulsets/demo 201 changed
		320ms  ADDED statefulsets/demo
		1600ms step recreate 1.2s
		1603ms DELETED caches/demo
		1650ms ADDED caches/demo
		1702ms list caches 200
		1711ms patch caches/demo/status 200 changed
		1713ms MODIFIED caches/demo`)
	p := testplan.Plan{
		Name: "hold: caches | recreate", Workload: sample(),
		Faults: []fault.Fault{
			{Kind: fault.Hold, View: "caches", On: fault.Match{Verb: fault.Event, Type: "DELETED", Resource: "caches", Name: "demo", Nth: 1}},
			{Kind: fault.Kill, Moment: fault.Answer, On: fault.Match{Verb: "patch", Resource: "caches/status", Name: "demo", Nth: 2}},
		},
	}
	f := finding.Finding{
		Property: finding.DataKept, Class: finding.Stale, Step: "recreate", Of: of("PersistentVolumeClaim", "data-demo-0"),
		Message: "PersistentVolumeClaim/data-demo-0 is deleted and recreated without its data",
		Diff:    []finding.Difference{{Of: "PersistentVolumeClaim/data-demo-0", Path: "metadata.uid", Want: `"the same"`, Got: `"another one"`}},
		Last:    failing.Requests[2:], Plan: &p, File: "prove-report/01 data kept.plan.yaml", Flaky: true, Seen: 1, Runs: 3,
		Log: []string{`{"level":"info","msg":"cache is gone, removing its claim","cache":"demo"}`, `{"level":"error","msg":"Operation cannot be fulfilled"}`},
	}
	r.Findings = []finding.Finding{f}
	shows(&r, 11, report.Flaky, f)
	r.Timelines = []report.Timeline{{Key: f.Key(), Failing: *report.CourseOf(failing), Reference: report.CourseOf(reference)}}
	return r
}

// hotLoop returns a report in which the operator writes without end and without any fault, and permissions are wrong.
func hotLoop(t *testing.T) report.Report {
	r := withRuns(base(), 1)
	var lines strings.Builder
	fmt.Fprintln(&lines, "0ms step create 10s 411 writes in the last 5s")
	for i := range 120 {
		at := 300 + 12*i
		fmt.Fprintf(&lines, "%dms get services/demo 200\n%dms update services/demo 200 changed\n%dms MODIFIED services/demo\n", at, at+4, at+5)
	}
	failing := written(t, 10*time.Second, lines.String())
	f := finding.Finding{
		Property: finding.Silent, Class: finding.HotLoop, Step: "create", Of: of("Service", "demo"),
		Message: "the operator does not become quiescent: it keeps writing services",
		Diff:    []finding.Difference{{Of: "Service/demo", Path: "spec.ports", Want: `[{"port":80}]`, Got: `[{"port":80,"protocol":"TCP","targetPort":80}]`}},
		Last:    failing.Requests[len(failing.Requests)-5:], Plan: &testplan.Plan{Name: "sample", Workload: sample()}, File: "prove-report/01.plan.yaml",
	}
	unneeded := finding.Finding{
		Property: finding.Needed, Level: finding.Note, Class: finding.Privilege, Message: "delete of nodes is granted and was never used",
	}
	known := finding.Finding{
		Property: finding.SameFresh, Class: finding.Misoperation, Of: of("StatefulSet", "demo"), Message: "a change of spec.storage leads to another state",
		Accepted: "claim templates are immutable, which the documentation of the operator says",
	}
	r.Findings = []finding.Finding{f, unneeded, known}
	r.Checked = append(r.Checked, finding.Needed, finding.Permitted)
	shows(&r, 0, report.Failed, f)
	r.Timelines = []report.Timeline{{Key: f.Key(), Failing: *report.CourseOf(failing)}}
	r.Rights = &report.Rights{
		Needed:  "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: cache-operator\nrules:\n- apiGroups: [\"\"]\n  resources: [services]\n  verbs: [create, get, list, update, watch]\n",
		Missing: []string{"patch events (events.k8s.io)"}, Unused: []string{"delete nodes"},
	}
	r.Took = 12 * time.Second
	return r
}

func clean() report.Report {
	r := withRuns(base(), 24)
	r.Notes = append(r.Notes, "the operator's kind Zone has no namespace: one plan at a time")
	r.Rights = &report.Rights{Needed: "rules: []\n"}
	return r
}

func interrupted() report.Report {
	r := withRuns(base(), 9)
	r.Plans = report.Plans{Planned: 25, Run: 9, Skipped: 15, Aborted: 1}
	r.Runs = append(r.Runs, report.Run{Plan: "conflict | sample", Took: time.Minute, Verdict: report.Aborted, Problem: "prepare namespace prove-1: no response"})
	r.Interrupted, r.Took = true, 14*time.Second
	return r
}

// hostile returns a report whose texts all contain characters that would do harm in one of the outputs.
func hostile() report.Report {
	const bad = "</script><script>alert(1)</script><img src=x onerror=alert(2)>]]>\x1b[2J\x07\u202e\xff&\"'`${x}{{.}}"
	r := withRuns(base(), 2)
	r.Operator = report.Operator{Name: bad, Command: []string{bad}}
	r.Cluster, r.Notes = bad, []string{bad}
	f := finding.Finding{
		Property: bad, Class: bad, Step: bad, Of: of(bad, bad), Message: bad, Flaky: true, File: bad, Log: []string{bad},
		Diff: []finding.Difference{
			{Of: bad, Path: bad, Want: bad, Got: bad},
			{Of: "Many/lines", Path: "spec.list", Want: "[" + strings.Repeat("1, 2, ", 60) + "3]"},
			{Of: "ConfigMap/long", Want: `"` + strings.Repeat("x", 50_000) + `"`, Got: strings.Repeat("<b>", 20_000)},
		},
		Last: []requestlog.Request{{Verb: bad, Resource: bad, Name: bad, Subresource: bad, Fault: bad, At: began}, {Verb: bad, Path: bad, At: began.Add(time.Second), Error: bad}},
		Plan: &testplan.Plan{Name: bad, Faults: []fault.Fault{{Kind: bad, Moment: bad, On: fault.Match{Verb: bad, Resource: bad, Name: bad}}}},
	}
	r.Findings = []finding.Finding{f}
	shows(&r, 1, report.Failed, f)
	r.Runs[1].Why = bad
	course := report.Course{
		Started: began, Took: time.Second, Steps: []report.Step{{Name: bad, At: began, Why: bad}},
		Requests: f.Last, Changes: []runlog.Change{{At: began, Type: bad, Kind: bad, Name: bad, Manager: bad}},
		Exits: []runlog.Exit{{At: began, Panic: bad, Signal: bad, Log: []string{bad}}},
	}
	r.Timelines = []report.Timeline{{Key: f.Key(), Failing: course, Reference: &course}}
	r.Rights = &report.Rights{Needed: bad, Missing: []string{bad}, Unused: []string{bad}}
	return r
}

// reports returns all reports, by the names of their golden files.
func reports(t *testing.T) map[string]report.Report {
	t.Helper()
	return map[string]report.Report{
		"intermediate": intermediate(t), "stale": stale(t), "hot-loop": hotLoop(t), "clean": clean(), "interrupted": interrupted(), "hostile": hostile(),
	}
}
