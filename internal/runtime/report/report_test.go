package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/core/trigger"
	"github.com/operon-framework/operon/internal/runtime/providers"
	"github.com/operon-framework/operon/internal/runtime/reconcilelog"
)

// recorder stores the events that are sent to it, one per line.
type recorder struct{ sent []string }

func (r *recorder) Eventf(_, related runtime.Object, kind, reason, action, note string, args ...any) {
	line := fmt.Sprintf("%s %s %s: ", kind, reason, action) + fmt.Sprintf(note, args...)
	if about, ok := related.(*corev1.ObjectReference); ok {
		line += fmt.Sprintf(" (%s %s %s)", about.APIVersion, about.Name, about.FieldPath)
	}
	r.sent = append(r.sent, line)
}

func action(verb plan.Verb, name, why string, drift ...string) plan.Action {
	desired := &unstructured.Unstructured{}
	desired.SetAPIVersion("v1")
	desired.SetKind("ConfigMap")
	desired.SetNamespace("default")
	desired.SetName(name)
	a := plan.Action{Verb: verb, Desired: desired, Why: why}
	for _, field := range drift {
		a.Drift = append(a.Drift, plan.Drift{Field: field})
	}
	return a
}

// Everything that one reconcile created, updated or pruned is in one event; drift has a separate event with the fields.
func TestEventsOfActions(t *testing.T) {
	t.Parallel()
	var e Events
	for _, a := range []plan.Action{
		action(plan.Create, "a", ""), action(plan.Create, "b", ""), action(plan.Keep, "c", ""),
		action(plan.Repair, "d", "data.x (changed by kubectl)", "data.1", "data.2", "data.3", "data.4", "data.5", "data.6"),
		action(plan.Recreate, "e", "was deleted"), action(plan.Adopt, "f", "exists already"), action(plan.Replace, "g", "immutable"),
		action(plan.Release, "h", "has an owner that is being deleted"), action(plan.Update, "i", ""), action(plan.Delete, "j", ""),
	} {
		e.Action(a)
	}
	e.External(providers.Deed{Verb: external.Create, Ref: external.Ref{Kind: "vm", Name: "a"}, ID: "i-1", Why: "is declared"})
	e.External(providers.Deed{Verb: external.Create, Ref: external.Ref{Kind: "vm", Name: "b"}})
	e.External(providers.Deed{Verb: external.Update, Ref: external.Ref{Kind: "vm", Name: "c"}, Why: "size differs"})
	e.External(providers.Deed{Verb: external.Delete, Ref: external.Ref{Kind: "vm", Name: "d"}, Err: errors.New("refused")})
	e.External(providers.Deed{Verb: external.MarkIt, Ref: external.Ref{Kind: "vm", Name: "e"}})
	e.Authors(corev1.EventTypeWarning, "Mine", "Reconcile", "100 % mine")
	var to recorder
	e.Send(&to, nil)
	want := []string{
		"Normal Created Create: created ConfigMap a, ConfigMap b (v1 a )",
		"Warning Repaired Update: reverted drift in ConfigMap d: data.x (changed by kubectl) (v1 d data.1, data.2, data.3, data.4, data.5)",
		"Warning Recreated Create: ConfigMap e was deleted; created it again (v1 e )",
		"Warning Adopted Update: adopted ConfigMap f, which exists already (v1 f )",
		"Warning Replaced Delete: deleted ConfigMap g to recreate it: immutable (v1 g )",
		"Normal Released Update: released ConfigMap h, which has an owner that is being deleted (v1 h )",
		"Normal Updated Update: updated: ConfigMap i (v1 i )",
		"Normal Pruned Delete: deleted because no longer declared: ConfigMap j (v1 j )",
		"Normal ExternalCreated Create: created external resource: vm/a (i-1); vm/b",
		"Normal ExternalUpdated Update: updated external resource: vm/c, size differs",
		"Warning Mine Reconcile: 100 % mine",
	}
	if !slices.Equal(to.sent, want) {
		t.Errorf("sent\n%s\nwant\n%s", strings.Join(to.sent, "\n"), strings.Join(want, "\n"))
	}
	e.Send(&to, nil)
	if len(to.sent) != len(want) {
		t.Error("events were sent twice")
	}
}

// The API refuses a note of more than 1,024 bytes, and one that is not UTF-8.
func TestLongNotesAreCut(t *testing.T) {
	t.Parallel()
	var e Events
	e.Normal("Long", "Reconcile", "%s", strings.Repeat("ä", 600))
	var to recorder
	e.Send(&to, nil)
	note := strings.TrimPrefix(to.sent[0], "Normal Long Reconcile: ")
	if len(note) > maxNote || !strings.HasSuffix(note, "ä...") {
		t.Errorf("%d bytes, ending in %q", len(note), note[len(note)-8:])
	}
}

// An event reports a transition of Ready, but not that an object which was not ready still waits.
func TestEventsOfReadiness(t *testing.T) {
	t.Parallel()
	ready, waiting := metav1.Condition{Status: "True", Reason: "Ready", Message: "m"}, metav1.Condition{Status: "False", Reason: "Waits", Message: "m"}
	for _, c := range []struct {
		name          string
		before, after metav1.Condition
		now           outcome.Kind
		want          string
	}{
		{"becomes ready", waiting, ready, outcome.KindDone, "Normal Ready Reconcile: m"},
		{"stays ready", ready, ready, outcome.KindDone, ""},
		{"ceases to be ready", ready, waiting, outcome.KindWait, "Normal Waits Reconcile: m"},
		{"still waits, for another reason", metav1.Condition{Status: "False", Reason: "Other"}, waiting, outcome.KindWait, ""},
		{"fails", ready, waiting, outcome.KindRetry, "Warning Waits Reconcile: m"},
		{"is stalled", metav1.Condition{}, waiting, outcome.KindStalled, "Warning Waits Reconcile: m"},
	} {
		var e Events
		e.Ready(Transition{c.before, c.after}, c.now)
		var to recorder
		e.Send(&to, nil)
		if got := strings.Join(to.sent, "; "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// An entry has the steps, actions and writes of a reconcile, and counts them in the metrics.
func TestEntry(t *testing.T) {
	t.Parallel()
	id := plan.ID{GroupKind: schema.GroupKind{Kind: "EntryTest"}, Namespace: "default", Name: "a"}
	why := trigger.Gathered{Causes: []trigger.Cause{{Kind: trigger.SpecChanged}}}
	_, e := Begin(context.Background(), nil, id, why, time.Unix(1, 0))
	e.Step("plan", time.Second, outcome.Done())
	e.Action(action(plan.Keep, "kept", ""), nil)
	e.Action(action(plan.Repair, "drifted", "data.x"), nil)
	e.Action(action(plan.Create, "refused", ""), errors.New("forbidden"))
	e.Action(action(plan.Await, "awaited", "waits"), nil)
	e.External(providers.Deed{Verb: external.Create, Ref: external.Ref{Kind: "vm", Name: "a"}})
	e.Close("retry", outcome.Retry(time.Second, "PermissionDenied", "m"), 3, &reconcilelog.Back{})
	var actions []string
	for _, a := range e.Actions {
		actions = append(actions, strings.TrimSpace(a.Verb+" "+a.Object.Name+" "+a.Error))
	}
	if want := []string{"repair drifted", "create refused forbidden", "await awaited", "create a"}; !slices.Equal(actions, want) {
		t.Errorf("actions %q, want %q", actions, want)
	}
	if e.Pass.Writes != 1 || e.Reason != "PermissionDenied" || e.Generation != 3 || len(e.Steps) != 1 || e.Began().IsZero() {
		t.Errorf("%+v", e.Pass)
	}
	if n := testutil.ToFloat64(repairsTotal.WithLabelValues("ConfigMap")); n < 1 {
		t.Errorf("%v repairs were counted", n)
	}
	if n := testutil.ToFloat64(reconcilesTotal.WithLabelValues("EntryTest", "retry")); n != 1 {
		t.Errorf("%v reconciles were counted", n)
	}
	if n := testutil.ToFloat64(causesTotal.WithLabelValues("EntryTest", string(trigger.SpecChanged))); n != 1 {
		t.Errorf("%v causes were counted", n)
	}
	var lines []string
	e.Log(funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{Verbosity: debugLevel}))
	e.Log(logr.Discard())
	if len(lines) != 1 || !strings.Contains(lines[0], `"reason"="PermissionDenied"`) || !strings.Contains(lines[0], `"back"=`) {
		t.Errorf("logged %q", lines)
	}
}

// Transitions of readiness are logged once: as an error if waiting alone does not help.
func TestReadinessIsLogged(t *testing.T) {
	t.Parallel()
	ready, waits := metav1.Condition{Status: "True", Reason: "Ready"}, metav1.Condition{Status: "False", Reason: "Waits"}
	var lines []string
	logger := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	var r Readiness
	r.Log(logger, "LogTest", Transition{metav1.Condition{}, waits}, outcome.Wait("Waits", "m"), nil)
	r.Log(logger, "LogTest", Transition{waits, ready}, outcome.Done(), nil)
	r.Log(logger, "LogTest", Transition{waits, ready}, outcome.Done(), nil)
	r.Log(logger, "LogTest", Transition{ready, waits}, outcome.Wait("Waits", "m"), nil)
	r.Log(logger, "LogTest", Transition{waits, metav1.Condition{Status: "False", Reason: "Bad"}}, outcome.Stalled("Bad", "m"), errors.New("broken"))
	want := []string{`"msg"="ready"`, `"msg"="not ready"`, `"error"="broken"`}
	if len(lines) != len(want) {
		t.Fatalf("logged %q", lines)
	}
	for i := range want {
		if !strings.Contains(lines[i], want[i]) {
			t.Errorf("line %d is %s, want %s", i, lines[i], want[i])
		}
	}
}

// A preview has what would be done, and what prevents the object from becoming ready.
func TestPreview(t *testing.T) {
	t.Parallel()
	owner := plan.ID{GroupKind: schema.GroupKind{Kind: "Box"}, Namespace: "default", Name: "red"}
	far := action(plan.Create, "far", "")
	far.Desired.SetNamespace("other")
	marked := providers.Deed{Verb: external.MarkIt, Ref: external.Ref{Kind: "vm", Name: "a"}}
	p := NewPreview(owner, []plan.Action{action(plan.Keep, "kept", ""), action(plan.Repair, "near", "data.x", "data.x"), far}, []providers.Deed{marked}, outcome.Wait("Waits", "for it"))
	const want = "Box default/red: repair ConfigMap near: data.x\nBox default/red: create ConfigMap other/far\nBox default/red: create vm a\nBox default/red: Waits: for it"
	if p.String() != want {
		t.Errorf("it is\n%s\nwant\n%s", p, want)
	}
	if nothing := NewPreview(owner, nil, nil, outcome.Done()); nothing.String() != "Box default/red: nothing to do" || nothing.Equal(p) || !p.Equal(p) {
		t.Errorf("without actions it is %q", nothing)
	}
	if !slices.Equal(p.Actions[0].Fields, []string{"data.x"}) {
		t.Errorf("fields %q", p.Actions[0].Fields)
	}
}
