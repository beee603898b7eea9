package sim

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
	"sigs.k8s.io/yaml"
)

//go:embed stages
var stages embed.FS

// engine executes the stages of one kind.
type engine struct {
	stages   lifecycle.Lifecycle
	renderer gotpl.Renderer
	recorder record.EventRecorder
}

// subject is the object of a stage. Its requests apply only to the version for which the stage was selected: if the object has
// changed since then, they fail with a conflict.
type subject struct {
	object    object
	words     any // stages select on them, and read them under .sim
	reference *corev1.ObjectReference
	patch     func(ctx context.Context, kind types.PatchType, data []byte, subresource string) error
	remove    func(ctx context.Context) error
}

// document is an object in the form that templates and selectors use.
type document = map[string]any

// newEngine reads the stages in the given directory.
func newEngine(folder string, recorder record.EventRecorder) (*engine, error) {
	partials, err := stages.ReadFile("stages/partials.tmpl")
	if err != nil {
		return nil, err
	}
	paths, err := fs.Glob(stages, "stages/"+folder+"/*.yaml")
	if err != nil {
		return nil, err
	}
	e := &engine{renderer: gotpl.NewRenderer(templateFunctions), recorder: recorder}
	for _, path := range paths {
		stage, err := readStage(path, string(partials))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		e.stages = append(e.stages, lifecycle.NewStage(stage))
	}
	// A stage compiles its expressions on its first use. Using it now makes it safe for concurrent use and detects errors.
	if _, err := e.stages.Match(context.Background(), &lifecycle.Event{Data: document{}}); err != nil {
		return nil, fmt.Errorf("stages/%s: %w", folder, err)
	}
	return e, nil
}

func readStage(path, partials string) (*internalversion.Stage, error) {
	data, err := stages.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var written v1alpha1.Stage
	if err := yaml.UnmarshalStrict(data, &written); err != nil {
		return nil, err
	}
	for _, step := range written.Spec.Steps {
		if step.Patch != nil {
			step.Patch.Template = partials + step.Patch.Template
		}
	}
	return internalversion.ConvertToInternalStage(&written)
}

// play executes the stage that s matches, if any. A positive duration is the time until the stage is due. It is computed again
// in each call, so stages wait until a time in the words (.sim.due), never for a fixed duration.
//
// Stages select only on the words, so the object itself is not converted unless a stage is executed.
func (e *engine) play(ctx context.Context, s subject) (time.Duration, error) {
	words, err := toDocument(s.words)
	if err != nil {
		return 0, err
	}
	event := &lifecycle.Event{Data: document{"sim": words}}
	stage, err := e.stages.Match(ctx, event)
	if err != nil || stage == nil {
		return 0, err
	}
	delay, _, err := stage.Delay(ctx, event, time.Now())
	if err != nil {
		return 0, fmt.Errorf("stage %s: %w", stage.Name(), err)
	}
	if delay > 0 {
		return delay, nil
	}
	doc, err := toDocument(s.object)
	if err != nil {
		return 0, err
	}
	doc["sim"] = words
	if err := e.perform(ctx, stage, s, doc); err != nil && !outdated(err) {
		return 0, fmt.Errorf("stage %s: %w", stage.Name(), err)
	}
	return 0, nil
}

func (e *engine) perform(ctx context.Context, stage *lifecycle.Stage, s subject, doc document) error {
	_, err := stage.DoSteps(0, nil, doc, e.renderer,
		func(event *internalversion.StageEvent) error { return e.report(s.reference, event, doc) },
		func() error { return s.remove(ctx) },
		func(p *lifecycle.Patch) error { return s.patch(ctx, p.Type, p.Data, p.Subresource) },
		func(*lifecycle.Apply) error { return errors.New("apply steps are not supported") })
	return err
}

// outdated reports whether a request failed because the object was changed or deleted. The watch reports that, so the request
// is not retried.
func outdated(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err)
}

// report records an event. Its message is a template.
func (e *engine) report(about *corev1.ObjectReference, event *internalversion.StageEvent, doc document) error {
	message, err := e.renderer.ToText(event.Message, doc)
	if err != nil {
		return err
	}
	e.recorder.Event(about, event.Type, event.Reason, string(message))
	return nil
}

func toDocument(value any) (document, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var doc document
	err = json.Unmarshal(data, &doc)
	return doc, err
}

// pin makes a merge patch fail with a conflict unless the stored object has the same version as obj.
func pin(patch []byte, obj object) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(patch, &fields); err != nil {
		return nil, err
	}
	version, err := json.Marshal(map[string]any{"uid": obj.GetUID(), "resourceVersion": obj.GetResourceVersion()})
	if err != nil {
		return nil, err
	}
	fields["metadata"] = version
	return json.Marshal(fields)
}
