package bundletest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/ship/bundle/check"
	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// test is the state of one Run.
type test struct {
	Options

	bundle, previous *version // previous may be nil
	with             []*bundle.Bundle
	report           *Report
	steps            []step

	*ground
	registry  *registryServer
	namespace string
	operator  *operator
	pod       *podEnvironment // of the operator that was started last
	crashed   bool            // the operator ended by itself
	watching  *watching
	samples   []*unstructured.Unstructured // created
	before    objects
	mine      func(*unstructured.Unstructured) bool // nil: all objects
}

// Run tests the bundle in options.Dir on a new local cluster, and removes the cluster. It returns an error if the bundle cannot be tested.
// Whether it passed is part of the report.
func Run(ctx context.Context, options Options) (*Report, error) {
	t, err := begin(options)
	if err != nil {
		return nil, err
	}
	linted, err := t.lint(ctx)
	if err != nil {
		return nil, err
	}
	if !linted {
		t.skipAll("the lint has failed")
		return t.report, nil
	}
	err = onGround(ctx, t.Options, func(ctx context.Context, g *ground) error {
		t.namespace = "bundle-test"
		return t.run(ctx, g)
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return t.report, err
}

// lint checks the bundle without a cluster, and reads its samples if it has no errors.
func (t *test) lint(ctx context.Context) (bool, error) {
	found, err := check.Run(ctx, []string{t.Dir}, check.Options{Jobs: 1})
	if err != nil {
		return false, err
	}
	stage := Stage{Name: "lint", Version: t.report.Name, Result: Pass}
	var errs []string
	warnings := 0
	for _, one := range found.Bundles {
		for _, finding := range one.Findings {
			switch finding.Severity {
			case rule.Error:
				errs = append(errs, fmt.Sprintf("%s: %s (%s)", finding.Place, finding.Message, finding.Rule))
			case rule.Warning:
				warnings++
			}
		}
	}
	if warnings > 0 {
		stage.Notes = append(stage.Notes, fmt.Sprintf("%s: operon bundle lint %s", plural.Count(warnings, "warning"), t.Dir))
	}
	if len(errs) > 0 {
		stage.Result, stage.Message = Fail, strings.Join(errs, "\n")
	} else if err := t.bundle.readSamples(); err != nil {
		return false, err
	}
	t.report.Stages = append(t.report.Stages, stage)
	return stage.Result == Pass, nil
}

// step is a stage on the cluster. It is skipped if one of the stages that it needs did not pass.
type step struct {
	name  string
	needs []string
	run   func(*test, context.Context) (Stage, error)
	// removes reports that the stage removes what shows why another one has failed.
	removes bool
}

// steps are the stages after the lint, in their order.
var steps = []step{
	{"install", nil, (*test).install, false},
	{"samples", []string{"install"}, (*test).createSamples, false},
	{"upgrade", []string{"install", "samples"}, (*test).upgrade, false},
	{"rollback", []string{"upgrade"}, (*test).rollback, false},
	{"delete", []string{"install"}, (*test).deleteSamples, true},
	{"permissions", []string{"install"}, (*test).checkPermissions, false},
	{"uninstall", []string{"install", "delete"}, (*test).uninstall, true},
	{"prove", []string{"install", "samples", "upgrade"}, (*test).prove, false},
}

// skipError is the reason of a stage that has nothing to test.
type skipError string

func (e skipError) Error() string { return string(e) }

// run runs all stages on a cluster.
func (t *test) run(ctx context.Context, g *ground) (err error) {
	t.ground, t.report.Namespace = g, t.namespace
	if t.Keep {
		t.report.Cluster = g.name
	}
	if t.registry, err = startRegistry(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.registry.close()) }()
	defer t.stopOperator()
	for _, one := range t.steps {
		if err := t.step(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// step runs a stage and adds it to the report. It returns an error only if the context has ended.
func (t *test) step(ctx context.Context, one step) error {
	for _, name := range one.needs {
		if at := slices.IndexFunc(t.report.Stages, func(s Stage) bool { return s.Name == name && s.Result == Fail }); at >= 0 {
			t.report.Stages = append(t.report.Stages, Stage{Name: one.name, Result: Skipped, Message: "stage " + name + " has failed"})
			return nil
		}
	}
	if t.Keep && one.removes && t.report.Failed() {
		t.report.Stages = append(t.report.Stages, Stage{Name: one.name, Result: Skipped, Message: "an earlier stage has failed, and its objects are kept"})
		return nil
	}
	t.say(one.name)
	started := time.Now()
	stage, err := one.run(t, ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var skipped skipError
	stage.Name, stage.Result, stage.Seconds = one.name, Pass, time.Since(started).Seconds()
	switch {
	case errors.As(err, &skipped):
		stage.Result, stage.Message = Skipped, string(skipped)
	case err != nil:
		stage.Result, stage.Message = Fail, strings.Join(append([]string{err.Error()}, t.operator.tail(err)...), "\n")
	}
	t.report.Stages = append(t.report.Stages, stage)
	return nil
}

// skipAll adds all stages on the cluster as skipped.
func (t *test) skipAll(why string) {
	for _, one := range t.steps {
		t.report.Stages = append(t.report.Stages, Stage{Name: one.name, Result: Skipped, Message: why})
	}
}
