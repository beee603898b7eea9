package reconcile_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/journal"
	kind "github.com/operon-framework/operon/internal/testing/box"
	"github.com/operon-framework/operon/internal/testing/boxtest"
)

// Gauge is a kind whose CRD is strict about the status.
type Gauge struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   boxtest.BoxSpec `json:"spec,omitempty"`
	Status GaugeStatus     `json:"status,omitempty"`
}

// GaugeStatus has required fields, which always have a value in Go.
type GaugeStatus struct {
	Level int      `json:"level"`
	Seen  []string `json:"seen"`
	Net   struct {
		Port int `json:"port"`
	} `json:"net"`
	Phase              string             `json:"phase,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Journal            *journal.Journal   `json:"journal,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// GaugeList is a list of Gauges.
type GaugeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Gauge `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (g *Gauge) DeepCopyObject() runtime.Object { return kind.Copied(g) }

// DeepCopyObject implements runtime.Object.
func (l *GaugeList) DeepCopyObject() runtime.Object { return kind.Copied(l) }

// Dial is a kind whose CRD is older than its type: it drops the journal.
type Dial struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status boxtest.BoxStatus `json:"status,omitempty"`
}

// DialList is a list of Dials.
type DialList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Dial `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (d *Dial) DeepCopyObject() runtime.Object { return kind.Copied(d) }

// DeepCopyObject implements runtime.Object.
func (l *DialList) DeepCopyObject() runtime.Object { return kind.Copied(l) }

func addGauge(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(schema.GroupVersion{Group: "test.operon.dev", Version: "v1"}, &Gauge{}, &GaugeList{}, &Dial{}, &DialList{})
	return nil
}

// gauges executes a step for a Gauge, and sets the phase in its spec in the status.
type gauges struct{ did *boxtest.Record }

func (gauges) Compose(context.Context, *Gauge, *operon.Composition) error { return nil }

func (g gauges) RunWorkflow(ctx context.Context, _ *Gauge, run *durable.Run) error {
	return boxtest.DoAll(ctx, run, g.did.Step("only", nil))
}

func (gauges) Observe(_ context.Context, g *Gauge, _ *operon.Observed) error {
	g.Status.Seen = nil // like a list to which nothing was added
	g.Status.Phase = g.Spec.Data["phase"]
	return nil
}

// Status fields that the CRD requires are written even if they have the zero value in Go and are not part of a patch of the
// changes. Values that the CRD does not allow are reported in another way.
func TestStatusThatIsRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.InstallCRDs(t, boxtest.File(w, "test/testdata/gauges.yaml"))
	w.Must(addGauge(w.Client.Scheme()))
	told := &boxtest.Lines{}
	cfg := operon.Config{Namespace: w.Namespace, Log: slog.New(slog.NewTextHandler(told, nil))}
	requests, _ := w.RunWith(w.Config, cfg, operon.API(boxtest.AddToScheme), operon.API(addGauge), operon.Manage(gauges{&boxtest.Record{}}))
	g := &Gauge{ObjectMeta: w.Meta("one"), Spec: boxtest.BoxSpec{Data: map[string]string{"phase": "Up"}}}
	w.Must(w.Client.Create(t.Context(), rawGauge(t, g)))
	w.gaugeIs(g, "Up")
	stored := rawGauge(t, g)
	w.Must(w.Client.Get(t.Context(), client.ObjectKeyFromObject(g), stored))
	status, _, _ := unstructured.NestedMap(stored.Object, "status")
	if text, err := json.Marshal([]any{status["level"], status["seen"], status["net"]}); err != nil || string(text) != `[0,[],{"port":0}]` {
		t.Errorf("the status is %v (%v)", status, err)
	}
	if all := ofStatus(requests); len(all) != 3 { // the journal, which was rejected; the journal; the conditions
		t.Errorf("there were %d writes: %q", len(all), all)
	}
	w.Change(g, func() { g.Annotations = map[string]string{"poke": "it"} })
	w.Still("no write for lists that are empty", func(context.Context) error {
		if all := ofStatus(requests); len(all) > 3 {
			return fmt.Errorf("there were %q", all)
		}
		return nil
	})

	w.Change(g, func() { g.Spec.Data["phase"] = "Sideways" })
	w.Event("StatusRefused", "status.phase", `supported values: "Up"`, "set the field in Observe")
	if text := told.String(); !strings.Contains(text, "the status is not written") {
		t.Errorf("the log says nothing of it: %s", text)
	}
	w.Change(g, func() { g.Spec.Data["phase"] = "" })
	w.gaugeIs(g, "")
}

// A step that is done does not run again because the CRD rejects the status.
func TestStepsOfAStatusThatIsRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.InstallCRDs(t, boxtest.File(w, "test/testdata/gauges.yaml"))
	w.Must(addGauge(w.Client.Scheme()))
	var did boxtest.Record
	w.RunWith(w.Config, operon.Config{Namespace: w.Namespace}, operon.API(boxtest.AddToScheme), operon.API(addGauge), operon.Manage(gauges{&did}))
	g := &Gauge{ObjectMeta: w.Meta("one"), Spec: boxtest.BoxSpec{Data: map[string]string{"phase": "Sideways"}}}
	w.Must(w.Client.Create(t.Context(), rawGauge(t, g)))
	w.Event("StatusRefused", "status.phase")
	w.Change(g, func() { g.Spec.Data["phase"] = "Up" })
	w.gaugeIs(g, "Up")
	if all := did.All(); len(all) != 1 {
		t.Errorf("the steps did %q", all)
	}
}

// ofStatus returns the writes of a status.
func ofStatus(t *boxtest.Traffic) []string {
	return slices.DeleteFunc(t.All(true), func(request string) bool { return !strings.HasSuffix(request, "/status") })
}

// dials executes a step for a Dial.
type dials struct{ did *boxtest.Record }

func (dials) Compose(context.Context, *Dial, *operon.Composition) error { return nil }

func (c dials) RunWorkflow(ctx context.Context, _ *Dial, run *durable.Run) error {
	return boxtest.DoAll(ctx, run, c.did.Step("only", nil))
}

// If the CRD drops the journal, no step is started, and the message states the remedy.
func TestJournalThatIsDropped(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.InstallCRDs(t, boxtest.File(w, "test/testdata/gauges.yaml"))
	w.Must(addGauge(w.Client.Scheme()))
	var d boxtest.Record
	w.RunWith(w.Config, operon.Config{Namespace: w.Namespace}, operon.API(boxtest.AddToScheme), operon.API(addGauge), operon.Manage(dials{&d}))
	dial := &Dial{ObjectMeta: w.Meta("one")}
	w.Must(w.Client.Create(t.Context(), dial))
	w.Eventually("JournalLost", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(dial), dial); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(dial.Status.Conditions, "Ready")
		if ready == nil || ready.Reason != "JournalLost" || !strings.Contains(ready.Message, "the CRD of Dial drops status.journal") {
			return fmt.Errorf("it is %+v", ready)
		}
		return nil
	})
	if all := d.All(); len(all) > 0 {
		t.Errorf("the steps did %q", all)
	}
	w.Must(w.Client.Delete(t.Context(), dial))
	w.Eventually("it to go", func(ctx context.Context) error {
		err := w.Client.Get(ctx, client.ObjectKeyFromObject(dial), dial)
		if err == nil {
			return fmt.Errorf("it has the finalizers %q", dial.Finalizers)
		}
		return client.IgnoreNotFound(err)
	})
}

// rawGauge returns a Gauge without a status, in the form in which users write it.
func rawGauge(t *testing.T, g *Gauge) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(g)
	if err != nil {
		t.Fatal(err)
	}
	delete(content, "status")
	raw := &unstructured.Unstructured{Object: content}
	raw.SetGroupVersionKind(schema.GroupVersionKind{Group: "test.operon.dev", Version: "v1", Kind: "Gauge"})
	return raw
}

// gaugeIs waits until a Gauge is ready for its current generation, with the given phase.
func (w *fixture) gaugeIs(g *Gauge, phase string) {
	w.Helper()
	w.Eventually("the Gauge to be ready, "+phase, func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(g), g); err != nil {
			return err
		}
		ready := meta.IsStatusConditionTrue(g.Status.Conditions, "Ready")
		if !ready || g.Status.Phase != phase || g.Status.ObservedGeneration != g.Generation {
			return fmt.Errorf("generation %d, status %+v", g.Generation, g.Status)
		}
		return nil
	})
}
