package oracle_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/oracle"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/testplan"
	"github.com/operon-framework/operon/internal/testing/scenario"
)

// The traces in the files of testdata are judged as the files say. See script_test.go for their
// format.
func TestScenarios(t *testing.T) {
	t.Parallel()
	scenario.Run(t, 40, judged)
}

// judged returns the findings of a scenario.
func judged(t *testing.T, text string) string {
	t.Helper()
	s := parsed(t, text)
	refs, found, err := oracle.Reference(s.workload, s.known())
	if err != nil {
		return fmt.Sprintf("cannot be tested: %v\n", err)
	}
	var b strings.Builder
	for _, f := range found {
		b.WriteString("without faults: " + told(f))
	}
	for _, one := range s.runs {
		p := testplan.Plan{Workload: s.workload, Faults: one.faults}
		for _, f := range oracle.Judge(refs, p, one.Trace) {
			b.WriteString(told(f))
		}
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

func told(f finding.Finding) string {
	var b strings.Builder
	flaky := ""
	if f.Flaky {
		flaky = " (flaky)"
	}
	if f.Level == finding.Note {
		b.WriteString("note: ")
	}
	fmt.Fprintf(&b, "%s, %s, at the step %q%s\n", f.Property, f.Class, f.Step, flaky)
	fmt.Fprintf(&b, "  %s\n", f.Text())
	if f.Of != nil {
		fmt.Fprintf(&b, "  of %s %s\n", f.Of.APIVersion, strings.Trim(f.Of.Namespace+"/"+f.Of.Kind+"/"+f.Of.Name, "/"))
	}
	for _, d := range f.Diff {
		fmt.Fprintf(&b, "  | %s %s: %s → %s\n", d.Of, d.Path, d.Want, d.Got)
	}
	for _, r := range f.Last {
		fault := ""
		if r.Fault != "" {
			fault = "   ← " + r.Fault
		}
		fmt.Fprintf(&b, "  > %s%s\n", strings.ReplaceAll(r.String(), "world-3/", ""), fault)
	}
	return b.String()
}

// Runs that cannot be judged result in an error, or in no finding.
func TestWorldsThatSayNothing(t *testing.T) {
	t.Parallel()
	s := parsed(t, "do create apply Box/a\n\ntrace reference\nstep create\n")
	if _, _, err := oracle.Reference(s.workload, oracle.Runs{}); err == nil {
		t.Error("without a trace there is nothing to compare with")
	}
	if found := oracle.Judge(oracle.References{}, testplan.Plan{}, runlog.Trace{}); found != nil {
		t.Errorf("of nothing was found %v", found)
	}
}

// The state that a run without faults leads to is reached in each of these runs, and in runs with the same
// result. It is not reached before that, nor if an object is missing.
func TestReached(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"intermediate-correct", "misoperation", "names-differ", "pods-counted", "status-behind", "stale-claim", "times"} {
		s := parsed(t, scenario.Given(t, "testdata/"+name+".txt"))
		refs, _, err := oracle.Reference(s.workload, s.known())
		if err != nil {
			t.Fatal(err)
		}
		all := s.references
		if len(s.runs) > 0 {
			all = append(all, s.runs[0].Trace)
		}
		for _, one := range all {
			for _, step := range one.Steps {
				reached := refs.Reached(step.Name, step.State)
				lacks := name == "status-behind" && one.Namespace == "world-3" && step.Name == "change"
				if reached == lacks {
					t.Errorf("%s: in %s the end of %q is reached: %v", name, one.Namespace, step.Name, reached)
				}
				if len(step.State) > 1 && refs.Reached(step.Name, step.State[1:]) {
					t.Errorf("%s: in %s the end of %q is reached without an object", name, one.Namespace, step.Name)
				}
			}
		}
		if refs.Reached("no such step", nil) {
			t.Error("where nothing is known, something is reached")
		}
	}
}

// Results of one workload are used for another workload that was not run without
// faults.
func TestOtherWorkloads(t *testing.T) {
	t.Parallel()
	s := parsed(t, scenario.Given(t, "testdata/intermediate-correct.txt"))
	refs, _, err := oracle.Reference(s.workload, oracle.Runs{Traces: s.references, History: s.history})
	if err != nil {
		t.Fatal(err)
	}
	if children := refs.Children(); len(children) != 2 || children[0].GetKind() != "ConfigMap" {
		t.Errorf("the operator's children are %v", children)
	}
	if rhythm := refs.Rhythm(); len(rhythm) > 0 {
		t.Errorf("the operator is said to repeat %s", rhythm)
	}
	other := parsed(t, "do create apply Box/a\ndo same apply Box/a same create\ndo delete delete Box/a\n")
	refs = refs.For(other.workload, nil)
	for step, like := range map[string]int{"create": 0, "same": 0, "delete": 1} {
		if !refs.Reached(step, s.references[1].Steps[like].State) || refs.Reached(step, s.references[1].Steps[1-like].State) {
			t.Errorf("the end of %q is not that of the step %d of the other workload", step, like)
		}
	}
}

// What the operator only creates for the changed objects of another workload may be random: it differs between two fresh runs. What is the same in
// both remains compared.
func TestRandomContentOfOtherWorkloads(t *testing.T) {
	t.Parallel()
	s := parsed(t, scenario.Given(t, "testdata/intermediate-correct.txt"))
	refs, _, err := oracle.Reference(s.workload, oracle.Runs{Traces: s.references})
	if err != nil {
		t.Fatal(err)
	}
	const steps = "object Box/a user {\"spec\":{\"tls\":true}}\ncreate secrets/a\nobject Secret/a operator {\"data\":{\"key\":\"RANDOM\",\"name\":\"%s\"}}\n"
	does := "do create apply Box/a\ndo tls apply Box/a fresh\n\n"
	fresh := "trace fresh tls\nstep tls\n" + fmt.Sprintf(steps, "a")
	changed := "trace changed\nstep create\nobject Box/a user {\"spec\":{}}\ncreate configmaps/a\nstep tls\n"
	for name, want := range map[string]int{"a": 0, "b": 1} {
		other := parsed(t, does+fresh+"\n"+changed+fmt.Sprintf(steps, name))
		again := parsed(t, does+strings.Replace(fresh, "fresh", "reference once", 1)) // in another namespace, with another random value
		plan := testplan.Plan{Workload: other.workload}
		refs := refs.For(other.workload, other.fresh)
		if found := oracle.Judge(refs, plan, other.runs[0].Trace); len(found) != 1 {
			t.Errorf("with one fresh run, %d findings: %v", len(found), found)
		}
		refs = refs.Learn(map[string]runlog.Trace{"tls": again.references[0]})
		if found := oracle.Judge(refs, plan, other.runs[0].Trace); len(found) != want {
			t.Errorf("with the name %s, %d findings: %v", name, len(found), found)
		}
	}
}

// TestPolls: an operator that watches nothing and reads now and then is not in a hot loop.
func TestPolls(t *testing.T) {
	t.Parallel()
	for lines, fine := range map[string]bool{"get boxes/a ×12\nwait 500ms\nget boxes/a ×3": true, "patch boxes/a unchanged ×20": false, "wait 1s": false} {
		s := parsed(t, "do create apply Box/a\n\ntrace reference\nstep create not silent\nobject Box/a user {}\npatch deployments/a\n"+lines)
		_, found, err := oracle.Reference(s.workload, oracle.Runs{Traces: s.references, History: s.history})
		if err != nil || fine != (len(found) == 0) {
			t.Errorf("%q: found %v, %v", lines, found, err)
		}
	}
}
