package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/operon-framework/operon/internal/prove/proxy"
	"github.com/operon-framework/operon/internal/prove/runlog"
)

// maxExits is the number of times that the operator may exit on its own before the run is given up.
const maxExits = 5

// life manages all instances of the operator in a run.
type life struct {
	world *world
	ctx   context.Context
	end   context.CancelFunc
	group sync.WaitGroup

	mu       sync.Mutex
	all      []*instance
	exits    []runlog.Exit
	unasked  int
	over     bool
	failure  error // an instance could not be started
	changed  time.Time
	step     string
	starting int   // number of instances that will be started
	heard    int64 // number of requests before the newest instance was started
}

// instance is one start of the operator. running and access are nil while it is being started.
type instance struct {
	number  int
	running Running
	access  *proxy.Instance
	log     *tail
	started time.Time
	asked   bool
	killed  bool // killed immediately, possibly before it ran
	ended   bool
}

func newLife(w *world) *life {
	ctx, end := context.WithCancel(context.Background())
	return &life{world: w, ctx: ctx, end: end}
}

// errOver is the error of a start after the end of the run.
var errOver = errors.New("the run is over")

// start starts an instance.
func (l *life) start(ctx context.Context) error {
	l.mu.Lock()
	if l.over {
		l.mu.Unlock()
		return errOver
	}
	number := len(l.all) + 1
	i := &instance{number: number, log: &tail{}, started: time.Now()}
	l.all = append(l.all, i)
	l.changed = i.started
	activity, _ := l.world.proxy.Activity()
	l.heard = activity.Seen
	l.mu.Unlock()
	if err := l.launch(ctx, i); err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		i.ended = true
		l.failure = fmt.Errorf("start the operator: %w", err)
		return l.failure
	}
	l.group.Go(func() { l.attend(i) })
	return nil
}

func (l *life) launch(ctx context.Context, i *instance) error {
	w := l.world
	account, err := w.folder(filepath.Join(w.namespace, fmt.Sprint(i.number), "serviceaccount"))
	if err != nil {
		return err
	}
	folder := filepath.Dir(account)
	access, err := w.proxy.NewInstance(filepath.Join(account, "token"))
	if err != nil {
		return err
	}
	l.mu.Lock()
	i.access = access
	l.mu.Unlock()
	kubeconfig := filepath.Join(folder, "kubeconfig")
	if err := settings(access, kubeconfig, account, w.namespace); err != nil {
		return err
	}
	running, err := w.Operator.Start(l.ctx, Access{
		Namespace: w.namespace, Config: access.Config(), Kubeconfig: kubeconfig, Account: account,
		Folder: folder, Elect: w.elects(), Log: i.log,
	})
	if err != nil {
		return err
	}
	l.runs(i, running)
	return nil
}

// runs records that an instance runs. It kills the instance if that was requested in the meantime: the instance may
// already have triggered a fault that kills it.
func (l *life) runs(i *instance, running Running) {
	l.mu.Lock()
	i.running = running
	killed := i.killed || l.over
	l.mu.Unlock()
	if killed {
		running.Kill()
	}
}

// settings writes the files that lead an operator to the proxy, except the token.
func settings(access *proxy.Instance, kubeconfig, account, namespace string) error {
	config, err := access.Kubeconfig(namespace)
	if err != nil {
		return err
	}
	authority := access.Config().CAData
	return errors.Join(
		os.WriteFile(kubeconfig, config, 0o600),
		os.WriteFile(filepath.Join(account, "ca.crt"), authority, 0o600),
		os.WriteFile(filepath.Join(account, "namespace"), []byte(namespace), 0o600),
	)
}

// attend waits for the end of an instance, records it, and starts another one.
func (l *life) attend(i *instance) {
	<-i.running.Done()
	l.mu.Lock()
	l.note(i)
	again := !l.over && !l.another(i)
	pause := time.Duration(0)
	if again && !i.asked {
		l.unasked++
		pause = min(timing.firstPause<<(l.unasked-1), timing.lastPause)
		again = l.unasked <= maxExits
	}
	if again {
		l.starting++
	}
	l.mu.Unlock()
	if !again {
		return
	}
	l.restart(pause)
}

// restart starts the operator again after a pause, as a Deployment does. No other instance runs.
func (l *life) restart(pause time.Duration) {
	defer l.started()
	select {
	case <-l.ctx.Done():
		return
	case <-time.After(pause):
	}
	holders, err := l.world.holders(l.ctx)
	if err == nil {
		err = l.world.freeLeases(l.ctx, holders)
	}
	if err != nil && l.ctx.Err() == nil {
		l.world.failed(err)
	}
	_ = l.start(l.ctx) // errors are stored in failure, which ends the step
}

// started records that a start which starting counts is over.
func (l *life) started() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.starting--
}

// another reports whether an instance other than this one runs.
func (l *life) another(i *instance) bool {
	for _, other := range l.all {
		if other != i && !other.ended {
			return true
		}
	}
	return false
}

// note records how an instance ended. The end of the run is not recorded as an exit, except if the instance
// panicked.
func (l *life) note(i *instance) {
	end := i.running.End()
	lines, panicked := i.log.read()
	i.ended = true
	l.changed = time.Now()
	if l.over && panicked == "" {
		return
	}
	l.exits = append(l.exits, runlog.Exit{
		At: l.changed, Step: l.step, After: l.changed.Sub(i.started), Asked: i.asked || l.over,
		Slow: l.world.Witness.Slowness(), Code: end.Code, Signal: end.Signal, Panic: panicked, Log: lines,
	})
}

// kill kills all running instances. It returns when none of their requests can reach the API server
// any more.
func (l *life) kill() {
	for _, i := range l.ask() {
		i.access.Revoke()
		l.mu.Lock()
		i.killed = true
		running := i.running
		l.mu.Unlock()
		if running != nil {
			running.Kill()
		}
	}
}

// ask marks all instances that run, or are about to run, as ended on purpose, and returns them.
func (l *life) ask() []*instance {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*instance
	for _, i := range l.all {
		if !i.ended && i.access != nil {
			i.asked = true
			all = append(all, i)
		}
	}
	l.changed = time.Now()
	return all
}

// overlap starts a second instance, as a rolling update does. It stops the first one, which may hold a lease, after
// the second has run for a time.
func (l *life) overlap() {
	l.mu.Lock()
	if l.over {
		l.mu.Unlock()
		return
	}
	l.starting++
	l.mu.Unlock()
	first := l.ask()
	l.group.Go(func() {
		defer l.started()
		_ = l.start(l.ctx) // errors are stored in failure, which ends the step
		select {
		case <-l.ctx.Done():
		case <-time.After(scaled(timing.overlapFor, l.world.Witness.Slowness())):
		}
		if err := l.replace(first); err != nil && l.ctx.Err() == nil {
			l.world.failed(err)
		}
	})
}

// replace stops instances, and returns when another one has their leases.
func (l *life) replace(first []*instance) error {
	holders, err := l.world.holders(l.ctx)
	for _, i := range first {
		if running := l.running(i); running != nil {
			running.Stop()
		}
	}
	for _, i := range first {
		if running := l.running(i); running != nil {
			select {
			case <-l.ctx.Done():
				return nil
			case <-running.Done():
			}
		}
	}
	if err != nil {
		return err
	}
	return l.world.handOver(l.ctx, holders)
}

// running returns the running process or function of an instance, or nil before it runs.
func (l *life) running(i *instance) Running {
	l.mu.Lock()
	defer l.mu.Unlock()
	return i.running
}

// close ends the operator. It is not started again.
func (l *life) close() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.kill()
	l.end()
	l.group.Wait()
}

// lackedPort reports whether the operator exited because another program listens on its port.
func (l *life) lackedPort() bool {
	return slices.ContainsFunc(l.ends(), func(e runlog.Exit) bool { return e.PortTaken() })
}

// ends returns the exits so far.
func (l *life) ends() []runlog.Exit {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.exits)
}

// at records the current step.
func (l *life) at(step string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.step = step
}

// busy describes what is in progress with the operator's instances, or returns "" if nothing is.
func (l *life) busy() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	running, ending := 0, false
	for _, i := range l.all {
		if !i.ended {
			running++
			ending = ending || i.asked
		}
	}
	switch {
	case ending:
		return "the operator is about to end"
	case l.starting > 0:
		return "the operator is about to start"
	case running > 1:
		return "two instances of the operator run"
	}
	return ""
}

// dead returns the reason why the operator does not run and will not be started again, or nil.
func (l *life) dead() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.failure != nil:
		return l.failure
	case l.unasked > maxExits:
		return fmt.Errorf("the operator exited on its own %d times", l.unasked)
	}
	return nil
}

// failed returns the error of an instance that could not be started, or nil.
func (l *life) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure
}

// lastChange returns when an instance last started or ended, and the number of requests before
// the newest instance was started.
func (l *life) lastChange() (at time.Time, heard int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed, l.heard
}

// said returns the last relevant line of the operator's output, to be appended to a sentence.
func (l *life) said() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 {
		return ""
	}
	lines, _ := l.all[len(l.all)-1].log.read()
	words := runlog.Words(lines)
	if words == "" {
		return ""
	}
	return " (it said last: " + words + ")"
}
