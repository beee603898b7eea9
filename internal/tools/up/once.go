package up

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/tools/terminal"
	"github.com/operon-framework/operon/internal/tools/up/process"
	"github.com/operon-framework/operon/internal/tools/up/tree"
	"github.com/operon-framework/operon/internal/tools/up/view"
)

// shownTail is the number of lines of the operator's log that are shown after it ended.
const shownTail = 25

// NotReadyError is the error of a Run in mode Once whose samples did not become ready: in time, or because the operator exited.
type NotReadyError struct{ error }

// Unwrap returns the reason.
func (e NotReadyError) Unwrap() error { return e.error }

// lateError is the error of samples that were not ready in time.
type lateError struct{ error }

// once waits until every sample is ready and prints the final state. Otherwise it returns the reason why a sample is not
// ready.
func (s *session) once(ctx context.Context) error {
	err := s.await(ctx)
	if _, late := errors.AsType[lateError](err); err == nil || late {
		return errors.Join(err, s.print())
	}
	return err
}

// await waits until every sample is ready. Otherwise it returns the reason why a sample is not ready.
func (s *session) await(ctx context.Context) error {
	started := time.Now()
	deadline := time.NewTimer(s.options.Timeout)
	defer deadline.Stop()
	look := time.NewTicker(timing.scrapeEvery) // for an operator without metrics, and kinds without objects
	defer look.Stop()
	became := time.Time{}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.operator.done():
			return NotReadyError{s.crash()}
		case <-deadline.C:
			return NotReadyError{lateError{s.notReady()}}
		case <-s.watcher.Changed():
		case <-s.wake:
		case <-look.C:
		}
		if !s.ready() {
			became = time.Time{}
			continue
		}
		if became.IsZero() {
			became = time.Now()
		}
		if lasted := time.Since(became); s.watcher.Complete() && lasted >= lag(s.sampleNodes()) || lasted > timing.unlisted {
			s.say("ready after %s", since(started))
			return nil
		}
	}
}

// crash returns the error of an operator that has ended by itself, which was read from its process already if the process is gone.
func (s *session) crash() error {
	if s.operator.process != nil {
		exit, _ := s.operator.ended()
		s.crashed = s.failure(fmt.Sprintf("the operator %s", exit), s.logTail())
	}
	return s.crashed
}

// ready reports whether every sample is ready according to the running operator.
func (s *session) ready() bool {
	nodes := s.sampleNodes()
	return s.attended() && len(nodes) == len(s.expected) &&
		!slices.ContainsFunc(nodes, func(node *tree.Node) bool { return node.State != tree.Ready })
}

// lag returns how long samples must have been ready before they are reported. What is shown of the children may be older than the state
// by which the operator judged them: a child may still be in progress, or not be there.
func lag(samples []*tree.Node) time.Duration {
	var inProgress func(*tree.Node) bool
	inProgress = func(node *tree.Node) bool {
		return node.State == tree.InProgress || slices.ContainsFunc(node.Children, inProgress)
	}
	switch {
	case slices.ContainsFunc(samples, inProgress):
		return timing.behind
	case slices.ContainsFunc(samples, func(node *tree.Node) bool { return len(node.Children) == 0 }):
		return timing.childless
	}
	return 0
}

// attended reports whether the running operator has reconciled something.
func (s *session) attended() bool {
	total, _ := s.gauge.count()
	patience := timing.silent
	if len(s.expected) > 0 && s.operator.tells {
		patience = timing.busy
	}
	return total > 0 || time.Since(s.operator.since) > patience
}

// sampleNodes returns the nodes of the samples.
func (s *session) sampleNodes() []*tree.Node {
	var nodes []*tree.Node
	for _, root := range s.watcher.Snapshot().Roots {
		for _, sample := range s.expected {
			if sample.Matches(root.Object) {
				nodes = append(nodes, root)
			}
		}
	}
	return nodes
}

// roots returns the nodes of all custom resources, if they are watched already.
func (s *session) roots() []*tree.Node {
	if s.watcher == nil {
		return nil
	}
	return s.watcher.Snapshot().Roots
}

// print prints the final state.
func (s *session) print() error {
	if s.options.Print != nil {
		objects := []*unstructured.Unstructured{}
		for _, node := range s.sampleNodes() {
			objects = append(objects, node.Object)
		}
		return s.options.Print(objects)
	}
	style := view.StyleIf(*s.options.Colors)
	state := view.State{Now: time.Now(), Tree: s.watcher.Snapshot()}
	_, err := fmt.Fprintln(terminal.NewWriter(s.options.Stdout), strings.Join(view.Tree(state, view.Width(s.options.Stdout), style), "\n"))
	return err
}

// notReady returns an error that describes why the samples did not become ready in time.
func (s *session) notReady() error {
	var lines []string
	for _, node := range s.sampleNodes() {
		lines = append(lines, tree.Why(node)...)
	}
	if len(lines) == 0 {
		lines = []string{"the operator has not reconciled anything since it was started"}
	}
	lines = append(lines, "the operator's log is "+s.folder.log())
	return s.failure(fmt.Sprintf("not ready after %s", s.options.Timeout), lines)
}

// failure returns an error with details, and with the permissions that the operator lacks.
func (s *session) failure(what string, details []string) error {
	if problem, lacks := s.permissionProblem(s.roots()); lacks {
		details = append(append(details, problem.Title), indented(problem.Lines)...)
	}
	return errors.New(strings.Join(append([]string{what}, indented(details)...), "\n"))
}

func (s *session) logTail() []string {
	tail := process.Crash(s.operator.log.Tail(1<<10), shownTail)
	if len(tail) == 0 {
		return []string{"it wrote nothing"}
	}
	return append([]string{"its last lines:"}, indented(tail)...)
}

func indented(lines []string) []string {
	all := make([]string, len(lines))
	for i, line := range lines {
		all[i] = "  " + line
	}
	return all
}
