package migrate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
)

// Pace is the number of objects that are written per second.
const Pace = 100

// Definitions reads the definition of the kind and removes versions from its storedVersions.
type Definitions interface {
	Read(ctx context.Context) (Definition, error)
	// Strike reduces storedVersions of an unchanged definition to its storage version. If the definition was changed in the
	// meantime, the result is a conflict.
	Strike(ctx context.Context, d Definition) error
	// MayStrike reports whether the operator may do that.
	MayStrike(ctx context.Context, d Definition) error
}

// Objects lists the stored objects and writes them unchanged.
type Objects interface {
	List(ctx context.Context, next string) (Page, error)
	Rewrite(ctx context.Context, object Object) error
}

// Marks stores the progress of migrations.
type Marks interface {
	Load(ctx context.Context, name string) (Mark, error)
	Save(ctx context.Context, name string, mark Mark) error
}

// Migration migrates the objects of one kind. It is a runnable of a controller-runtime manager
// that only a leader runs.
type Migration struct {
	Definitions Definitions
	Objects     Objects
	Marks       Marks
	// Kind is the kind of the objects, for logs and metrics.
	Kind string
	Log  logr.Logger
	// Clock returns the time. Nil means the real clock.
	Clock clock.WithTicker
	// Converts means that the versions differ, so that a conversion is required.
	Converts bool
	// Pace is the number of objects that are written per second. Zero means [Pace].
	Pace rate.Limit

	limiter *rate.Limiter
	told    string // the last error that was logged
	known   string // the identity of the definition
	since   time.Time
}

// NeedLeaderElection implements controller-runtime's LeaderElectionRunnable.
func (m *Migration) NeedLeaderElection() bool { return true }

// Start migrates whenever there is something to migrate, until ctx ends. Failures are logged and retried.
func (m *Migration) Start(ctx context.Context) error {
	for pause := timing.firstRetry; ctx.Err() == nil; {
		err := m.Run(ctx)
		if ctx.Err() != nil {
			return nil
		}
		m.tell(err)
		next := timing.again
		if err != nil {
			next, pause = pause, min(2*pause, timing.lastRetry)
		} else {
			pause = timing.firstRetry
		}
		m.sleep(ctx, next)
	}
	return nil
}

// Run migrates once, if there is something to migrate.
func (m *Migration) Run(ctx context.Context) error {
	d, err := m.Definitions.Read(ctx)
	if err != nil {
		return fmt.Errorf("read the CRD: %w", err)
	}
	if len(d.Older()) == 0 {
		remaining.WithLabelValues(m.Kind).Set(0)
		return nil
	}
	if m.Converts && !d.Converted {
		return &UnconvertedError{d}
	}
	if err := m.Definitions.MayStrike(ctx, d); err != nil {
		return err
	}
	if now := m.clock().Now(); m.known != d.Identity {
		m.known, m.since = d.Identity, now
	}
	m.sleep(ctx, Settled(d.Changed, m.since).Sub(m.clock().Now()))
	mark, count, err := m.rewriteAll(ctx, d)
	if err != nil {
		return err
	}
	if err := m.Definitions.Strike(ctx, d); err != nil {
		return fmt.Errorf("remove %q from the stored versions: %w", d.Older(), err)
	}
	m.Log.Info("storage migrated", "kind", m.Kind, "to", d.Storage, "from", d.Older(),
		"rewritten", count.Rewritten, "written meanwhile", count.Meanwhile)
	m.forget(ctx, d, mark)
	return nil
}

// resumed returns the token with which an API server continues a list whose snapshot has expired, or an empty string. Objects that were created
// meanwhile need no migration.
func resumed(err error) string {
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return status.ErrStatus.Continue
	}
	return ""
}

// rewriteAll writes all objects that were not written since the migration began.
func (m *Migration) rewriteAll(ctx context.Context, d Definition) (Mark, Count, error) {
	mark := m.load(ctx, d)
	var count Count
	var stuck *StuckError
	for next := ""; ; {
		page, err := m.Objects.List(ctx, next)
		if apierrors.IsResourceExpired(err) && next != "" {
			next = resumed(err) // from the beginning, the mark prevents objects from being written twice
			continue
		}
		if err != nil {
			return mark, count, fmt.Errorf("list the objects: %w", err)
		}
		if mark.At == 0 {
			mark = m.begin(ctx, d, page)
		}
		for i, object := range page.Objects {
			remaining.WithLabelValues(m.Kind).Set(float64(page.Remaining + int64(len(page.Objects)-i)))
			err := m.rewrite(ctx, mark, object, &count)
			if ctx.Err() != nil {
				return mark, count, ctx.Err()
			}
			if lacks, ok := errors.AsType[*MissingError](err); ok {
				return mark, count, lacks
			}
			if err != nil {
				stuck = stuck.add(object, err)
			}
		}
		if next = page.Next; next == "" {
			break
		}
		m.Log.Info("storage is being migrated", "kind", m.Kind, "to", d.Storage, "rewritten", count.Rewritten, "remaining", page.Remaining)
	}
	if stuck != nil {
		return mark, count, stuck
	}
	return mark, count, nil
}

// begin records where the migration begins.
func (m *Migration) begin(ctx context.Context, d Definition, first Page) Mark {
	mark := parseMark(d.Identity + "@" + first.At)
	m.Log.Info("storage is being migrated", "kind", m.Kind, "to", d.Storage, "from", d.Older(), "objects", int64(len(first.Objects))+first.Remaining)
	if err := m.Marks.Save(ctx, d.Name, mark); err != nil {
		m.Log.V(1).Info("cannot record the progress of the migration; it would start over after a restart", "kind", m.Kind, "error", err.Error())
	}
	return mark
}

// load returns the mark of an interrupted migration of the same definition, or an empty mark.
func (m *Migration) load(ctx context.Context, d Definition) Mark {
	mark, err := m.Marks.Load(ctx, d.Name)
	if err != nil || mark.Of != d.Identity {
		return Mark{}
	}
	return mark
}

// forget removes the mark of a completed migration. A mark that remains does no harm.
func (m *Migration) forget(ctx context.Context, d Definition, mark Mark) {
	remaining.WithLabelValues(m.Kind).Set(0)
	if mark == (Mark{}) {
		return
	}
	if err := m.Marks.Save(ctx, d.Name, Mark{}); err != nil {
		m.Log.V(1).Info("cannot delete the record of the migration", "kind", m.Kind, "error", err.Error())
	}
}

// rewrite writes an object, unless it was written before. A conflict means that another client wrote it.
func (m *Migration) rewrite(ctx context.Context, mark Mark, object Object, count *Count) error {
	if mark.written(object.ResourceVersion) {
		count.Meanwhile++
		migrated.WithLabelValues(m.Kind, "meanwhile").Inc()
		return nil
	}
	if err := m.pace(ctx); err != nil {
		return err
	}
	err := m.Objects.Rewrite(ctx, object)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		count.Meanwhile++
		migrated.WithLabelValues(m.Kind, "meanwhile").Inc()
		return nil
	case err != nil:
		migrated.WithLabelValues(m.Kind, "failed").Inc()
		return err
	}
	count.Rewritten++
	migrated.WithLabelValues(m.Kind, "rewritten").Inc()
	return nil
}

func (m *Migration) pace(ctx context.Context) error {
	if m.limiter == nil {
		every := m.Pace
		if every == 0 {
			every = Pace
		}
		m.limiter = rate.NewLimiter(every, 1)
	}
	return m.limiter.Wait(ctx)
}

// tell logs an error if it differs from the previous one.
func (m *Migration) tell(err error) {
	if err == nil {
		m.told = ""
		return
	}
	if text := err.Error(); text != m.told {
		m.told = text
		m.Log.Error(err, "storage is not migrated; everything else continues", "kind", m.Kind)
	}
}

func (m *Migration) clock() clock.WithTicker {
	if m.Clock == nil {
		return clock.RealClock{}
	}
	return m.Clock
}

func (m *Migration) sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-m.clock().After(d):
	}
}

// MissingError names a permission that a migration lacks.
type MissingError struct {
	// Group, Resource, Name and Verb are the fields of the rule. Name may be empty.
	Group, Resource, Name, Verb string
}

func (e *MissingError) Error() string {
	names := ""
	if e.Name != "" {
		names = fmt.Sprintf(", resourceNames: [%s]", e.Name)
	}
	return fmt.Sprintf("a permission is missing; add to the rules of the operator's ClusterRole: {apiGroups: [%q], resources: [%s]%s, verbs: [%s]}", e.Group, e.Resource, names, e.Verb)
}
