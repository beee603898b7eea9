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

// engine plays the stages of one kind.
type engine struct {
	stages   lifecycle.Lifecycle
	renderer gotpl.Renderer
	recorder record.EventRecorder
}

// subject is what a stage is played on. Its requests apply to the very version that the
// stage was chosen for: where the object has changed since, they fail with a conflict.
type subject struct {
	object    object
	words     any // what stages select on, and find under .sim
	reference *corev1.ObjectReference
	patch     func(ctx context.Context, kind types.PatchType, data []byte, subresource string) error
	remove    func(ctx context.Context) error
}

// document is an object as templates and selectors see it.
type document = map[string]any

// newEngine reads the stages in the directory of that name.
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
	// A stage compiles its expressions when it is first asked; asking now makes it safe to
	// share among goroutines, and shows mistakes.
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

// play plays the stage that s matches, if any. A positive duration reports that the stage is
// due only then. It is worked out again at each call, so stages wait until a time that the
// words tell (.sim.due), never for a fixed while.
//
// Stages select on the words alone, so that an object at rest is not even looked at.
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

// outdated reports whether a request failed because the object changed or went away. The
// watch brings the news, so there is nothing to retry.
func outdated(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err)
}

// report records an event; its message is a template.
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

// pin makes a merge patch fail with a conflict unless it meets obj in this very version.
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
