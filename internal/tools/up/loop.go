package up

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/up/view"
)

// loop applies the project's changes and shows the state until ctx ends. Only the goroutine that runs it accesses its fields;
// other goroutines send to its channels.
type loop struct {
	*session
	display  display
	problems problems
	restart  *time.Timer

	built       chan built
	builds      int // that were begun
	building    sync.Mutex
	running     sync.WaitGroup // the goroutines that the loop started
	stopBuild   context.CancelFunc
	runningSum  [sha256.Size]byte
	installed   chan installed
	installing  bool
	installMore bool
	stopWatch   context.CancelFunc
	tokenState  chan error
}

// built is the result of a build.
type built struct {
	number int
	sum    [sha256.Size]byte
	err    error
}

// installed is the result of applying changed manifests.
type installed struct {
	project *project.Project
	err     error
}

func (s *session) loop(ctx context.Context) error {
	sum, err := sumOf(s.folder.operator())
	if err != nil {
		return err
	}
	l := &loop{
		session: s, display: newDisplay(s), problems: problems{}, restart: time.NewTimer(time.Hour), runningSum: sum,
		built: make(chan built), installed: make(chan installed), tokenState: make(chan error), stopBuild: func() {}, stopWatch: func() {},
	}
	l.restart.Stop()
	go s.credentials.keep(ctx, s.renew, func(err error) { send(ctx, l.tokenState, err) })
	defer l.display.close()
	l.serve(ctx)
	l.running.Wait()
	return nil
}

// serve runs the loop.
func (l *loop) serve(ctx context.Context) {
	frames := time.NewTicker(timing.frame)
	defer frames.Stop()
	shown, dirty := time.Time{}, true
	for {
		select {
		case <-ctx.Done():
			return
		case what := <-l.changes.out:
			l.changed(ctx, what)
		case result := <-l.built:
			l.takeBuild(result)
		case result := <-l.installed:
			l.takeInstalled(ctx, result)
		case <-l.operator.done():
			l.ended()
		case <-l.restart.C:
			l.tryStart()
		case err := <-l.tokenState:
			l.problems.set(fromToken, err)
		case <-l.watcher.Changed():
		case <-l.wake:
		case <-frames.C:
			if dirty || time.Since(shown) > timing.refresh {
				l.display.show(l.state())
				shown, dirty = time.Now(), false
			}
			continue
		}
		dirty = true
	}
}

// changed handles changes in the project's directory.
func (l *loop) changed(ctx context.Context, what []change) {
	for _, one := range what {
		switch one {
		case sourcesChanged:
			l.build(ctx)
		case manifestsChanged:
			l.reinstall(ctx)
		}
	}
}

// build builds the operator again, and cancels a build that is not finished yet.
func (l *loop) build(ctx context.Context) {
	l.stopBuild()
	ctx, cancel := context.WithCancel(ctx)
	l.stopBuild = cancel
	l.operator.rebuilding = true
	l.builds++
	result, p := built{number: l.builds}, l.project
	l.running.Go(func() {
		l.building.Lock() // the previous build ends with a delay, and both write the same file
		defer l.building.Unlock()
		if result.err = l.session.build(ctx, p); result.err == nil {
			result.sum, result.err = sumOf(l.folder.operator())
		}
		if p.Main.Stock() { // the program is the same, and reads files that changed
			result.sum = sha256.Sum256(fmt.Appendf(nil, "%d", result.number))
		}
		send(ctx, l.built, result)
	})
}

// takeBuild replaces the running operator by a newer one. It ignores the result of a build that was replaced by another one.
func (l *loop) takeBuild(result built) {
	if result.number != l.builds {
		return
	}
	l.operator.rebuilding = false
	l.problems.set(fromBuild, result.err)
	if result.err != nil || result.sum == l.runningSum {
		return
	}
	l.runningSum = result.sum
	l.again()
}

// again stops the operator and starts the operator that was built last.
func (l *loop) again() {
	l.operator.stop()
	l.operator.restarts = 0
	l.restart.Stop()
	l.refused.Clear()
	l.tryStart()
}

// tryStart starts the operator. If this fails, it is tried again later.
func (l *loop) tryStart() {
	err := l.startOperator()
	l.problems.set(fromOperator, err)
	if err != nil {
		l.restart.Reset(timing.lastPause)
	}
}

// ended shows how the operator ended, and schedules its restart after a pause.
func (l *loop) ended() {
	exit, pause := l.operator.ended()
	problem := view.Problem{Title: fmt.Sprintf("the operator %s; restarting in %s", exit, pause), Lines: l.logTail()}
	l.problems[fromOperator] = problem
	l.restart.Reset(pause)
}

// state returns the state to show.
func (l *loop) state() view.State {
	snapshot := l.watcher.Snapshot()
	all := l.problems.list()
	if problem, lacks := l.permissionProblem(snapshot.Roots); lacks {
		all = append(all, problem)
	}
	return view.State{
		Now: time.Now(), Project: l.project.Name, Cluster: l.target.title, Operator: l.operator.view(l.gauge),
		Problems: all, Tree: snapshot, Unseen: l.watcher.Unseen(), Log: l.operator.log.Tail(shownTail), Hint: l.hint(),
	}
}

func (l *loop) hint() string {
	if l.options.Where.IsLocal() {
		return "Ctrl-C stops the operator; the cluster keeps running until `operon cluster down" + nameFlag(l.options.Where) + "`"
	}
	return "Ctrl-C stops the operator; its objects stay in the cluster until `operon down`"
}

func sumOf(file string) ([sha256.Size]byte, error) {
	content, err := os.ReadFile(file)
	return sha256.Sum256(content), err
}

// send sends a value unless ctx ends first.
func send[T any](ctx context.Context, to chan<- T, value T) {
	select {
	case to <- value:
	case <-ctx.Done():
	}
}
