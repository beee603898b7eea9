package projecttest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/projecttest/molecule"
	"github.com/operon-framework/operon/internal/tools/terminal"
	"github.com/operon-framework/operon/internal/tools/up"
)

// test is the state of one Run.
type test struct {
	options  Options
	scenario *molecule.Scenario
	report   *Report
	progress io.Writer
	running  *up.Running
}

// Run tests the project in options.Dir, and removes from the cluster everything that it has installed. It returns an error if the
// project cannot be tested. Whether its tests passed is part of the report, which is nil if no test was run.
func Run(ctx context.Context, options Options) (*Report, error) {
	t, err := begin(options)
	if err != nil {
		return nil, err
	}
	t.progress = terminal.NewWriter(t.options.Progress)
	err = up.Run(ctx, up.Options{
		Dir: options.Dir, Where: options.Where, Args: options.Args, Stdout: t.options.Progress, Stderr: t.options.Progress, Use: t.use,
	})
	if ctx.Err() != nil {
		return nil, errors.Join(context.Cause(ctx), err)
	}
	if t.running == nil {
		return nil, err
	}
	return t.report, err
}

// use runs all steps while the operator runs.
func (t *test) use(ctx context.Context, running *up.Running) error {
	t.running = running
	t.report.Cluster, t.report.Namespace = running.Cluster(), running.Namespace()
	if t.scenario != nil {
		if err := t.play(ctx); err != nil {
			return err
		}
		if err := t.deleteRest(ctx); err != nil {
			return err
		}
	}
	t.checkSamples(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return t.deleteRest(ctx)
}

// play runs the playbooks of the scenario until one of them fails. The playbook cleanup runs nevertheless.
func (t *test) play(ctx context.Context) (err error) {
	player, err := t.player(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, player.Close()) }()
	failed := ""
	for _, step := range player.Steps() {
		if failed != "" && step.Name != "cleanup" {
			t.skip(step.Name, "", failed+" failed")
			continue
		}
		if !t.step(ctx, step.Name, "", func(ctx context.Context) error { return player.Play(ctx, step) }) {
			failed = step.Name
		}
	}
	return context.Cause(ctx)
}

// player writes the files that the scenario needs, and creates its namespace.
func (t *test) player(ctx context.Context) (*molecule.Player, error) {
	kubeconfig, err := t.running.Kubeconfig()
	if err != nil {
		return nil, err
	}
	player, err := t.scenario.Player(filepath.Join(t.running.Directory(), "scenario"), t.running.Namespace(), kubeconfig, t.progress)
	if err != nil {
		return nil, err
	}
	if name := player.Namespace(); name != t.running.Namespace() {
		t.report.Namespace = name
		return player, t.running.UseNamespace(ctx, name)
	}
	return player, nil
}

// step does a step and adds its result to the report. It ends with an error if the operator ends by itself.
func (t *test) step(ctx context.Context, name, object string, do func(context.Context) error) bool {
	started := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, t.options.Timeout, fmt.Errorf("not done after %s", t.options.Timeout))
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	if ended := t.running.Ended(); ended != nil {
		stop := make(chan struct{})
		defer close(stop)
		go func() {
			select {
			case <-ended:
				end(errEnded)
			case <-stop:
			}
		}()
	}
	err := do(ctx)
	if errors.Is(context.Cause(ctx), errEnded) {
		err = t.running.Crash()
	}
	t.add(Step{Name: name, Object: object, Seconds: time.Since(started).Seconds()}, err)
	return err == nil
}

// errEnded means that the operator has ended by itself.
var errEnded = errors.New("the operator has ended")

// add adds a step that has ended to the report.
func (t *test) add(step Step, err error, about ...*unstructured.Unstructured) {
	step.Result = OK
	if err != nil {
		step.Result, step.Message = Failed, err.Error()
		if failed, ok := errors.AsType[*molecule.TaskError](err); ok {
			step.Task = &failed.Task
		}
		if lacks := t.running.Lacks(about...); lacks != "" && !strings.Contains(step.Message, "the operator lacks permissions") {
			step.Message += "\n" + lacks
		}
	}
	t.report.Steps = append(t.report.Steps, step)
	t.say("%s: %s, %s", strings.TrimSpace(step.Name+" "+step.Object), step.Result, seconds(step))
}

func (t *test) skip(name, object, why string) {
	t.report.Steps = append(t.report.Steps, Step{Name: name, Object: object, Result: Skipped, Message: why})
}

func (t *test) say(format string, args ...any) { fmt.Fprintf(t.progress, format+"\n", args...) }

// isOwn reports whether an object is of a kind of the project.
func isOwn(p *project.Project, object *unstructured.Unstructured) bool {
	for _, definition := range p.CRDs {
		group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
		if object.GroupVersionKind().Group == group && object.GetKind() == kind {
			return true
		}
	}
	return false
}
