package up

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/up/process"
)

// removeResources removes the custom resources, with the help of their operator where they
// have finalizers that only it can clear.
func (r *remover) removeResources(ctx context.Context) error {
	items := r.inventory.resources
	if err := r.delete(ctx, items); err != nil {
		return err
	}
	alone, cancel := context.WithTimeout(ctx, unattended)
	defer cancel()
	left := r.waitAttended(alone, items)
	if len(left) == 0 {
		return nil
	}
	if !slices.ContainsFunc(left, finalizedByOperator) {
		return r.waitGone(ctx, left)
	}
	return r.withOperator(ctx, left)
}

// waitAttended waits until the items are gone, the time is over, or all that keeps them is the
// operator's, and returns those that are left.
func (r *remover) waitAttended(ctx context.Context, items []item) []item {
	tick := time.NewTicker(removeInterval)
	defer tick.Stop()
	for len(items) > 0 {
		left, err := r.left(ctx, items)
		if err == nil {
			r.sayGone(items, left)
			items = left
		}
		select {
		case <-ctx.Done():
			return items
		case <-tick.C:
		}
	}
	return nil
}

// finalizedByOperator tells objects with finalizers of others than the garbage collector.
func finalizedByOperator(one item) bool {
	return slices.ContainsFunc(one.object.GetFinalizers(), func(finalizer string) bool {
		return finalizer != metav1.FinalizerDeleteDependents && finalizer != metav1.FinalizerOrphanDependents
	})
}

// withOperator runs the operator until items are gone.
func (r *remover) withOperator(ctx context.Context, items []item) error {
	r.say("running the operator for the finalizers of %s", count(len(items), "object"))
	o, err := r.startOperator(ctx)
	if err != nil {
		return fmt.Errorf("%w\nrun the operator: %w", stillThere(errors.New("objects wait for the operator"), items), err)
	}
	defer o.stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	running := o.process // stop forgets it, while this may still look
	go func() {
		select {
		case <-running.Done():
			tail := process.Crash(o.log.Tail(1<<10), shownTail)
			cancel(fmt.Errorf("the operator %s:\n%s\nso", running.Exit(), strings.Join(indented(tail), "\n")))
		case <-ctx.Done():
		}
	}()
	return r.waitGone(ctx, items)
}

// startOperator starts the operator that was built last, or builds it.
func (r *remover) startOperator(ctx context.Context) (*operator, error) {
	p, err := project.Read(r.dir, project.Options{})
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(r.folder.operator()); errors.Is(err, fs.ErrNotExist) {
		if err := process.Build(ctx, p.Dir, p.Main.Package, r.folder.operator()); err != nil {
			return nil, err
		}
	}
	who := identityOf(p)
	credentials, err := newCredentials(r.target, who, r.folder)
	if err != nil {
		return nil, err
	}
	if _, err := credentials.write(ctx, r.target); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(r.folder.log(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	o := &operator{project: p, folder: r.folder, who: who, log: process.NewLog(log, func(string) {})}
	return o, o.start()
}
