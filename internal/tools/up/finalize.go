package up

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/removal"
	"github.com/operon-framework/operon/internal/tools/up/process"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// removeResources removes the custom resources. It runs their operator if they have finalizers that only the operator can
// clear.
func (r *remover) removeResources(ctx context.Context) error {
	if err := r.removal.Delete(ctx, r.inventory.resources); err != nil {
		return err
	}
	left, err := r.removal.WaitFor(ctx, timing.unattended, r.inventory.resources)
	if err != nil || len(left) == 0 {
		return err
	}
	if !slices.ContainsFunc(left, removal.Held) {
		return r.removal.WaitGone(ctx, left)
	}
	if r.abandon != nil {
		return r.abandonAll(ctx, left)
	}
	return r.withOperator(ctx, left)
}

// abandonAll removes the finalizers of objects, and waits until the objects no longer exist.
func (r *remover) abandonAll(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		stripped, err := removal.Strip(ctx, r.inventory.client, object)
		if err != nil {
			return err
		}
		if len(stripped) > 0 {
			r.abandon(object, stripped)
		}
	}
	return r.removal.WaitGone(ctx, objects)
}

// withOperator runs the operator until the objects no longer exist.
func (r *remover) withOperator(ctx context.Context, objects []*unstructured.Unstructured) error {
	r.say("running the operator for the finalizers of %s", plural.Count(len(objects), "object"))
	o, err := r.startOperator(ctx)
	if err != nil {
		return fmt.Errorf("%w\nrun the operator: %w", removal.Left(errors.New("objects wait for the operator"), objects), err)
	}
	defer o.stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	running := o.process // stop clears it while the goroutine may still use it
	go func() {
		select {
		case <-running.Done():
			tail := process.Crash(o.log.Tail(1<<10), shownTail)
			cancel(fmt.Errorf("the operator %s:\n%s\nso", running.Exit(), strings.Join(indented(tail), "\n")))
		case <-ctx.Done():
		}
	}()
	return r.removal.WaitGone(ctx, objects)
}

// startOperator starts the operator that was built last. If there is none, it builds the operator.
func (r *remover) startOperator(ctx context.Context) (*operator, error) {
	p, err := project.Read(r.dir, project.Options{Main: r.mainDir()})
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
	args, err := r.folder.keptArgs()
	if err != nil {
		return nil, err
	}
	o := &operator{project: p, folder: r.folder, who: who, log: process.NewLog(log, func(string) {}), args: args}
	return o, o.start()
}
