package operon_test

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
)

// Gauge is a kind whose CRD is strict about the status.
type Gauge struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BoxSpec     `json:"spec,omitempty"`
	Status GaugeStatus `json:"status,omitempty"`
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

	Status BoxStatus `json:"status,omitempty"`
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
type gauges struct{}

func (gauges) Compose(context.Context, *Gauge, *operon.Composition) error { return nil }

func (gauges) RunWorkflow(ctx context.Context, _ *Gauge, run *durable.Run) error {
	var d did
	return take(ctx, run, d.step("only", nil))
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
	w := newWorld(t)
	w.InstallCRDs(t, "testdata/gauges.yaml")
	w.must(addGauge(w.client.Scheme()))
	told := &tail{}
	cfg := operon.Config{Namespace: w.Namespace, Log: slog.New(slog.NewTextHandler(told, nil))}
	requests, _ := w.runWith(w.Config, cfg, operon.API(addBox), operon.API(addGauge), operon.Manage(gauges{}))
	g := &Gauge{ObjectMeta: w.meta("one"), Spec: BoxSpec{Data: map[string]string{"phase": "Up"}}}
	w.must(w.client.Create(t.Context(), rawGauge(t, g)))
	w.gaugeIs(g, "Up")
	stored := rawGauge(t, g)
	w.must(w.client.Get(t.Context(), client.ObjectKeyFromObject(g), stored))
	status, _, _ := unstructured.NestedMap(stored.Object, "status")
	if text, err := json.Marshal([]any{status["level"], status["seen"], status["net"]}); err != nil || string(text) != `[0,[],{"port":0}]` {
		t.Errorf("the status is %v (%v)", status, err)
	}
	if all := requests.ofStatus(); len(all) != 3 { // the journal, which was rejected; the journal; the conditions
		t.Errorf("there were %d writes: %q", len(all), all)
	}
	w.change(g, func() { g.Annotations = map[string]string{"poke": "it"} })
	w.still("no write for lists that are empty", func(context.Context) error {
		if all := requests.ofStatus(); len(all) > 3 {
			return fmt.Errorf("there were %q", all)
		}
		return nil
	})

	w.change(g, func() { g.Spec.Data["phase"] = "Sideways" })
	w.event("StatusRefused", "status.phase", `supported values: "Up"`, "set the field in Observe")
	if text := told.String(); !strings.Contains(text, "the status is not written") {
		t.Errorf("the log says nothing of it: %s", text)
	}
	w.change(g, func() { g.Spec.Data["phase"] = "" })
	w.gaugeIs(g, "")
}

// ofStatus returns the writes of a status.
func (t *traffic) ofStatus() []string {
	return slices.DeleteFunc(t.all(true), func(request string) bool { return !strings.HasSuffix(request, "/status") })
}

// dials executes a step for a Dial.
type dials struct{ did *did }

func (dials) Compose(context.Context, *Dial, *operon.Composition) error { return nil }

func (c dials) RunWorkflow(ctx context.Context, _ *Dial, run *durable.Run) error {
	return take(ctx, run, c.did.step("only", nil))
}

// If the CRD drops the journal, no step is started, and the message states the remedy.
func TestJournalThatIsDropped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.InstallCRDs(t, "testdata/gauges.yaml")
	w.must(addGauge(w.client.Scheme()))
	var d did
	w.runWith(w.Config, operon.Config{Namespace: w.Namespace}, operon.API(addBox), operon.API(addGauge), operon.Manage(dials{&d}))
	dial := &Dial{ObjectMeta: w.meta("one")}
	w.must(w.client.Create(t.Context(), dial))
	w.eventually("JournalLost", func(ctx context.Context) error {
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(dial), dial); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(dial.Status.Conditions, "Ready")
		if ready == nil || ready.Reason != "JournalLost" || !strings.Contains(ready.Message, "the CRD of Dial drops status.journal") {
			return fmt.Errorf("it is %+v", ready)
		}
		return nil
	})
	if all := d.all(); len(all) > 0 {
		t.Errorf("the steps did %q", all)
	}
	w.must(w.client.Delete(t.Context(), dial))
	w.eventually("it to go", func(ctx context.Context) error {
		err := w.client.Get(ctx, client.ObjectKeyFromObject(dial), dial)
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
func (w *world) gaugeIs(g *Gauge, phase string) {
	w.Helper()
	w.eventually("the Gauge to be ready, "+phase, func(ctx context.Context) error {
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(g), g); err != nil {
			return err
		}
		ready := meta.IsStatusConditionTrue(g.Status.Conditions, "Ready")
		if !ready || g.Status.Phase != phase || g.Status.ObservedGeneration != g.Generation {
			return fmt.Errorf("generation %d, status %+v", g.Generation, g.Status)
		}
		return nil
	})
}
