package runner

import (
	"errors"
	"testing"
)

// fakeRunning runs until it is killed.
type fakeRunning struct {
	Running
	killed bool
}

func (f *fakeRunning) Kill() { f.killed = true }

// An instance that is started while the run ends does not outlive it, and none is started after that: nobody would end
// it.
func TestNothingRunsAfterTheEnd(t *testing.T) {
	t.Parallel()
	l := newLife(&world{})
	late := &instance{}
	l.all = append(l.all, late)
	l.close()
	running := &fakeRunning{}
	if l.runs(late, running); !running.killed {
		t.Error("what was being started runs on")
	}
	if err := l.start(t.Context()); !errors.Is(err, errOver) {
		t.Errorf("another one is started: %v", err)
	}
}
