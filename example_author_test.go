package operon_test

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/operontest"
)

// An operator that reports its activity: a log line for each reconcile with its triggers, OpenTelemetry spans to an exporter of your
// choice, and the latest reconciles of each object at http://127.0.0.1:8081/debug/operon. operon.Main takes all of this from flags and
// environment variables.
func ExampleConfig() {
	run := func(ctx context.Context, cluster *rest.Config, exporter sdktrace.SpanExporter) error {
		spans := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
		defer func() { _ = spans.Shutdown(context.WithoutCancel(ctx)) }()
		return operon.Run(ctx, "box-operator", cluster, operon.Config{
			Log:                    slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})),
			TracerProvider:         spans,
			MetricsBindAddress:     "127.0.0.1:8080",
			HealthProbeBindAddress: "127.0.0.1:8081",
		}, operon.API(addBox), operon.Manage(compose(copies)))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // the example stops as soon as it has started
	if err := run(ctx, &rest.Config{Host: "127.0.0.1:1"}, tracetest.NewInMemoryExporter()); err != nil {
		panic(err)
	}
}

// archived copies the data of a Box into a ConfigMap that outlives it.
type archived struct{ compose }

var _ operon.Finalizer[*Box] = archived{}

func (archived) Finalize(ctx context.Context, b *Box, out *operon.Finalization) error {
	archive := config(b.Name+"-archive", b.Spec.Data)
	archive.Namespace = b.Namespace
	return client.IgnoreAlreadyExists(out.Client().Create(ctx, archive))
}

// Finalize runs when the Box is deleted, while its children still exist. The Box is gone only after it has succeeded.
func ExampleFinalizer() {
	tell(archived{copies}, boxCase{
		Object: box(nil),
		Then:   []boxStep{{Name: "the box is deleted", Do: []operontest.Change{operontest.Delete(box(nil))}}},
	})
	// Output:
	// the object is created
	//   write change Box box
	//   write create ConfigMap box
	//   write status Box box
	//   event Created: created ConfigMap box
	//   event Ready: all resources are up to date and ready
	//   Ready=True Ready: all resources are up to date and ready
	// the box is deleted
	//   write create ConfigMap box-archive
	//   write change Box box
	//   gone
}

// A password is generated once and kept. The Deployment would get it by secretKeyRef.
func ExampleComposition_GeneratedSecret() {
	operon.Main("box-operator", operon.API(addBox), operon.Manage(composing(
		func(ctx context.Context, b *Box, out *operon.Composition) error {
			credentials := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: b.Name}}
			return out.GeneratedSecret(ctx, credentials, func(data map[string][]byte) {
				if data["password"] == nil {
					data["password"] = []byte(rand.Text())
				}
			})
		})))
}

// Only a change of the Box can help: it is not retried until then.
func ExampleComposition_Fail() {
	tell(compose(func(b *Box, out *operon.Composition) error {
		if b.Spec.Data["color"] == "" {
			out.Fail("NoColor", "set spec.data.color")
		}
		return nil
	}), boxCase{Object: box(nil)})
	// Output:
	// the object is created
	//   write status Box box
	//   event NoColor: set spec.data.color
	//   Ready=False NoColor: set spec.data.color
}

// An error that wraps a TerminalError is not retried either.
func ExampleTerminalError() {
	noSuchColor := errors.New("there is no color of that name")
	tell(compose(func(*Box, *operon.Composition) error {
		return operon.TerminalError("NoSuchColor", fmt.Errorf("mix the color: %w", noSuchColor))
	}), boxCase{Object: box(nil)})
	// Output:
	// the object is created
	//   write status Box box
	//   event NoSuchColor: mix the color: there is no color of that name
	//   Ready=False NoSuchColor: mix the color: there is no color of that name
}

// Your own events are recorded in every reconcile in which they apply, and sent once.
func ExampleComposition_Event() {
	tell(compose(func(b *Box, out *operon.Composition) error {
		out.Event("Painted", "painted in "+b.Spec.Data["color"])
		if len(b.Spec.Data) > 1 {
			out.Warning("ManyColors", "only the first color is used")
		}
		return nil
	}), boxCase{Object: box(map[string]string{"color": "red", "other": "blue"})})
	// Output:
	// the object is created
	//   write status Box box
	//   event Painted: painted in red
	//   event ManyColors: only the first color is used
	//   event Ready: all resources are up to date and ready
	//   Ready=True Ready: all resources are up to date and ready
}

// Only the children of one part are known yet: nothing is pruned until all are known.
func ExampleComposition_Partial() {
	show(func(b *Box, out *operon.Composition) error {
		out.Child(config("known", nil))
		if _, rest := b.Spec.Data["rest"]; !rest {
			out.Partial()
		}
		for _, child := range out.Children() {
			child.SetLabels(map[string]string{"app": b.Name})
		}
		return nil
	})
	// Output:
	// apiVersion: v1
	// kind: ConfigMap
	// metadata:
	//   labels:
	//     app: box
	//   name: known
}

// A license is checked again every hour.
func ExampleComposition_RequeueAfter() {
	operon.Main("box-operator", operon.API(addBox), operon.Manage(compose(
		func(b *Box, out *operon.Composition) error {
			if b.Spec.Data["license"] == "expired" {
				out.Wait("LicenseExpired", "waits for a new license")
			}
			out.RequeueAfter(time.Hour)
			return nil
		})))
}

// Existing YAML manifests become children unchanged.
func ExampleFromYAML() {
	show(func(_ *Box, out *operon.Composition) error {
		children, err := operon.FromYAML([]byte(`
apiVersion: v1
kind: ConfigMap
metadata: {name: lid}
data: {color: red}
`))
		for _, child := range children {
			out.Child(child)
		}
		return err
	})
	// Output:
	// apiVersion: v1
	// data:
	//   color: red
	// kind: ConfigMap
	// metadata:
	//   name: lid
}

// A client-go apply configuration contains only the fields that were set.
func ExampleFromApplyConfiguration() {
	show(func(b *Box, out *operon.Composition) error {
		lid, err := operon.FromApplyConfiguration(applycorev1.ConfigMap("lid", "").WithData(b.Spec.Data))
		if err == nil {
			out.Child(lid)
		}
		return err
	})
	// Output:
	// apiVersion: v1
	// data:
	//   color: red
	// kind: ConfigMap
	// metadata:
	//   name: lid
}

// careful reports more than its children do.
type careful struct{ compose }

var _ operon.Observer[*Box] = careful{}

func (careful) Observe(ctx context.Context, b *Box, seen *operon.Observed) error {
	backup := config(b.Name+"-backup", nil)
	found, err := seen.Get(ctx, backup)
	switch {
	case err != nil:
		return err
	case !found:
		seen.NotReady("NoBackup", "there is no backup yet")
	case backup.Data["state"] == "old":
		seen.Degraded("OldBackup", "the last backup is older than a day")
	}
	return nil
}

// Observe can keep a Box from being Ready, and report that it serves in a degraded way.
func ExampleObserved_NotReady() {
	backup := config("box-backup", map[string]string{"state": "old"})
	tell(careful{copies}, boxCase{
		Object: box(nil),
		Then:   []boxStep{{Name: "a backup is made", Do: []operontest.Change{operontest.Create(backup)}}},
	})
	// Output:
	// the object is created
	//   write create ConfigMap box
	//   write status Box box
	//   event Created: created ConfigMap box
	//   Ready=False NoBackup: there is no backup yet
	// a backup is made
	//   write status Box box
	//   event Ready: all resources are up to date and ready
	//   Ready=True Ready: all resources are up to date and ready
}

// An operator with its own flag and a different sync period.
func ExampleFlags() {
	var color string
	operon.Main("box-operator", operon.API(addBox),
		operon.Flags(func(set *flag.FlagSet) { set.StringVar(&color, "color", "red", "`COLOR` of boxes without one") }),
		operon.ManagerOptions(func(options *ctrl.Options) { options.PprofBindAddress = "127.0.0.1:6060" }),
		operon.Manage(compose(func(b *Box, out *operon.Composition) error {
			out.Child(config(b.Name, map[string]string{"color": color}))
			return nil
		})),
	)
}

// A webhook of another program reconciles a Box at once.
func ExampleTrigger() {
	names := make(chan types.NamespacedName)
	http.HandleFunc("/painted", func(_ http.ResponseWriter, r *http.Request) {
		names <- types.NamespacedName{Namespace: r.FormValue("namespace"), Name: r.FormValue("name")}
	})
	operon.Main("box-operator", operon.API(addBox), operon.Manage(compose(copies), operon.Trigger(names)))
}

// checked has defaults, and rules that are written in Go.
type checked struct{ compose }

var (
	_ operon.Defaulter[*Box]         = checked{}
	_ operon.Validator[*Box]         = checked{}
	_ operon.DeletionValidator[*Box] = checked{}
)

func (checked) Default(_ context.Context, b *Box) error {
	if b.Spec.Data == nil {
		b.Spec.Data = map[string]string{"color": "red"}
	}
	return nil
}

func (checked) Validate(_ context.Context, b *Box, about *operon.Admission[*Box]) field.ErrorList {
	if b.Spec.Data["color"] == "beige" {
		about.Warn("beige is deprecated")
	}
	if !about.Created && about.Old.Spec.Data["color"] != b.Spec.Data["color"] {
		return field.ErrorList{field.Forbidden(field.NewPath("spec", "data", "color"), "the color cannot be changed")}
	}
	return nil
}

func (checked) ValidateDeletion(_ context.Context, b *Box, _ *operon.Admission[*Box]) error {
	if b.Spec.Data["keep"] != "" {
		return errors.New("unset spec.data.keep before you delete the box")
	}
	return nil
}

// An operator that serves admission webhooks, and has the API servers evaluate a rule in CEL.
func ExampleValidator() {
	run := func(ctx context.Context, cluster *rest.Config) error {
		return operon.Run(ctx, "box-operator", cluster,
			operon.Config{Webhooks: operon.Webhooks{BindAddress: ":9443", Service: "box-operator-webhook", Namespace: "boxes",
				Lifetimes: operon.Lifetimes{CA: 365 * 24 * time.Hour, Leaf: 30 * 24 * time.Hour}}},
			operon.API(addBox),
			operon.Manage(checked{copies},
				operon.WebhookTimeout(5*time.Second),
				operon.WebhookFailOpen(),
				operon.WebhookMatch("not-mine", "request.userInfo.username != 'system:admin'"),
				operon.Rules(operon.Rule{Check: "size(object.spec.data) < 100", Message: "at most 100 keys"}),
			),
		)
	}
	_ = run // called by main
}

// moved copies data in durable steps.
type moved struct{ compose }

var (
	_ operon.WorkflowRunner[*Box] = moved{}
	_ operon.Canceler[*Box]       = moved{}
)

func (moved) RunWorkflow(ctx context.Context, b *Box, run *durable.Run) error {
	size, err := durable.Do(ctx, run, durable.Step[int]{Name: "measure", Do: func(context.Context, *durable.Attempt) (int, error) {
		return len(b.Spec.Data), nil
	}})
	if err != nil {
		return err
	}
	_, err = durable.Do(ctx, run, durable.Step[string]{Name: "move", Do: func(context.Context, *durable.Attempt) (string, error) {
		return fmt.Sprintf("moved %d keys", size), nil
	}})
	return err
}

func (moved) Canceled(b *Box) (why string) {
	if b.Spec.Data["stop"] != "" {
		return "spec.data.stop is set"
	}
	return ""
}

// Each step runs once, even if the operator is killed in between.
func ExampleWorkflowRunner() {
	operon.Main("box-operator", operon.API(addBox), operon.Manage(moved{copies}))
}

// emptied offers an action.
type emptied struct{ compose }

var _ operon.ActionHandler[*Box] = emptied{}

func (emptied) Actions() operon.Actions[*Box] {
	var empty operon.Action[*Box] = func(ctx context.Context, b *Box, run *operon.ActionContext) error {
		if run.Parameters["sure"] != "yes" {
			return fmt.Errorf("action %s needs the parameter sure=yes", run.Name)
		}
		_, err := durable.Do(ctx, run.Run, durable.Step[int]{Name: "empty", Do: func(context.Context, *durable.Attempt) (int, error) {
			return len(b.Spec.Data), nil
		}})
		return err
	}
	return operon.Actions[*Box]{"empty": empty}
}

// Users request the action by an object of the kind Action.
func ExampleActionHandler() {
	operon.Main("box-operator", operon.API(addBox), operon.Manage(emptied{copies}))
}

// A room is the external resource of a Box.
type room struct{ Size int }

// rooms creates a room for each Box, by a provider that calls the API of the external system.
type rooms struct {
	compose
	provider external.Provider[room, room]
}

var _ operon.ExternalComposer[*Box] = rooms{}

func (r rooms) ComposeExternal(_ context.Context, b *Box, out *operon.ExternalComposition) error {
	var known *operon.ExternalResources[room] = operon.ExternalKind(out, "room", r.provider)
	known.Declare("main", room{Size: len(b.Spec.Data)})
	return nil
}

func (rooms) Observe(_ context.Context, b *Box, seen *operon.Observed) error {
	var err error
	b.Status.Seen, err = roomsOf(seen)
	return err
}

// roomsOf returns the names of the rooms, in Compose and in Observe.
func roomsOf(from operon.ExternalReader) ([]string, error) {
	known, err := operon.External[room](from, "room")
	var names []string
	for _, one := range known {
		names = append(names, one.Name)
	}
	return names, err
}

// The room is created once, and deleted before the Box is gone.
func ExampleExternalComposer() {
	var provider external.Provider[room, room] // a client of your external system
	operon.Main("box-operator", operon.API(addBox), operon.Manage(rooms{copies, provider}))
}

// A composer that counts ConfigMaps in its own cluster and in another one.
func ExampleOtherCluster_List() {
	operon.Main("box-operator", operon.API(addBox),
		operon.Cluster("east", &rest.Config{Host: "https://east.example.com"}),
		operon.Manage(composing(func(ctx context.Context, _ *Box, out *operon.Composition) error {
			var here, there corev1.ConfigMapList
			if err := out.List(ctx, &here, nil, operon.Everything); err != nil {
				return err
			}
			var east *operon.OtherCluster = out.In("east")
			if err := east.List(ctx, &there, client.MatchingLabels{"app": "box"}); err != nil {
				return err
			}
			out.Child(config("count", map[string]string{"here": fmt.Sprint(len(here.Items)), "there": fmt.Sprint(len(there.Items))}))
			return nil
		})),
	)
}

// The manager's client refuses to cache every Secret of a cluster, and the error states what to write instead.
func ExampleCacheError() {
	refused := &operon.CacheError{Kind: "Secret"}
	fmt.Println(strings.Contains(refused.Error(), "operon.CacheAll"))
	// Output:
	// true
}

// An operator takes the gold Boxes over from an earlier one, whose finalizer is no longer needed. Kind is only necessary if the
// scheme has several kinds for a Go type.
func ExampleRetireFinalizers() {
	operon.Main("box-operator", operon.API(addBox), operon.Manage(compose(copies),
		operon.Kind(schema.GroupVersionKind{Group: "test.operon.dev", Version: "v1", Kind: "Box"}),
		operon.Selector(labels.SelectorFromSet(labels.Set{"tier": "gold"})),
		operon.RetireFinalizers("boxes.example.com/uninstall"),
	))
}

// reporting is an observer that reports failures in its own words.
type reporting struct{ compose }

func (reporting) Observe(_ context.Context, b *Box, seen *operon.Observed) error {
	if reason, message, failed := seen.Unapplied(); failed {
		seen.Degraded(reason, "the last change of "+b.Name+" had no effect: "+message)
	}
	return nil
}

// Observe runs although a child could not be applied.
func ExampleObserved_Unapplied() {
	fmt.Println(operon.Manage(reporting{compose(copies)}) != nil)
	// Output: true
}

// Options of children and of kinds can be stored in variables.
func ExampleChildOption() {
	kept := []operon.ChildOption{operon.Orphan(), operon.Adopt()}
	limited := []operon.ManageOption{operon.Concurrency(2), operon.Timeout(time.Minute)}
	all := []operon.Option{operon.API(addBox), operon.Manage(compose(func(_ *Box, out *operon.Composition) error {
		out.Child(config("backup", nil), kept...)
		return nil
	}), limited...)}
	operon.Main("box-operator", all...)
}
