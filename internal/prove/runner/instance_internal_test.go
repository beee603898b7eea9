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

// An instance that is being started while the run ends is killed, and no other instance is started after that, because it
// would never be stopped.
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
