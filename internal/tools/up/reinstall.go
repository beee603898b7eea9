package up

import (
	"context"
	"errors"
	"reflect"

	"github.com/operon-framework/operon/internal/tools/project"
)

// reinstall applies changed manifests. If they change again in the meantime, they are applied again afterwards.
func (l *loop) reinstall(ctx context.Context) {
	if l.installing {
		l.installMore = true
		return
	}
	l.installing = true
	next := *l.project
	l.running.Go(func() {
		err := next.ReadManifests()
		if err == nil {
			err = l.installAll(ctx, &next)
		}
		send(ctx, l.installed, installed{&next, err})
	})
}

// takeInstalled continues after manifests were applied: everything that depends on them is started again.
func (l *loop) takeInstalled(ctx context.Context, result installed) {
	l.installing = false
	if l.installMore {
		l.installMore = false
		l.reinstall(ctx)
	}
	if result.err != nil {
		l.problems.set(fromManifests, result.err)
		return
	}
	before := l.project
	l.project, l.operator.project = result.project, result.project
	var err error
	l.expected, err = l.samples.apply(ctx, l.project)
	l.problems.set(fromManifests, errors.Join(err, l.follow(ctx, before)))
}

// follow makes the watcher and the operator follow the changed manifests.
func (l *loop) follow(ctx context.Context, before *project.Project) error {
	if !reflect.DeepEqual(before.Grants, l.project.Grants) {
		l.again() // a forbidden watch is retried late, if ever
	}
	was, wasErr := rootKinds(before)
	is, isErr := rootKinds(l.project)
	if err := errors.Join(wasErr, isErr); err != nil {
		return err
	}
	if reflect.DeepEqual(was, is) {
		l.watcher.Expect(l.expected)
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	watcher, err := l.watch(ctx, l.project)
	if err != nil {
		cancel()
		return err
	}
	l.stopWatch()
	l.watcher, l.stopWatch = watcher, cancel
	return nil
}
