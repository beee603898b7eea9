package main

import (
	"context"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// kills is how often the operator is killed while it scales up, and again while it scales down.
const kills = 6

// The operator, a separate process, is killed repeatedly while it scales from zero to ten and from ten to three: the vCenter
// contains exactly the desired machines, and none in the end. KILL_SEED repeats the times of the kills.
func TestKilledWhileScaling(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	seed := uint64(time.Now().UnixNano())
	if said, err := strconv.ParseUint(os.Getenv("KILL_SEED"), 10, 64); err == nil {
		seed = said
	}
	t.Logf("KILL_SEED=%d", seed)
	moments := rand.New(rand.NewPCG(seed, 1))
	program := build(t)
	s.credentials()
	s.group.Spec.Replicas = 0
	s.must(s.Create(t.Context(), s.group))
	for _, replicas := range []int{10, 3} {
		s.scale(replicas)
		for range kills {
			s.runFor(program, time.Duration(moments.Int64N(int64(1200*time.Millisecond))))
		}
		stop := s.start(program)
		s.comesTo(replicas, int(s.group.Spec.CPU))
		stop()
	}
	stop := s.start(program)
	s.end()
	stop()
}

// build builds the operator.
func build(t *testing.T) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "vmgroup")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-w", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("build the operator: %v\n%s", err, out)
	}
	return program
}

// start starts the operator, and returns a function that kills it.
func (s *stage) start(program string) (kill func()) {
	s.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
	operator := exec.CommandContext(ctx, program, "--kubeconfig", s.Kubeconfig, "--namespace", s.Namespace,
		"--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0")
	operator.Stdout, operator.Stderr = io.Discard, io.Discard
	s.must(operator.Start())
	kill = sync.OnceFunc(func() {
		cancel() // SIGKILL
		_ = operator.Wait()
	})
	s.Cleanup(kill)
	return kill
}

// runFor runs the operator for a duration, and kills it.
func (s *stage) runFor(program string, while time.Duration) {
	s.Helper()
	kill := s.start(program)
	timer := time.NewTimer(while)
	defer timer.Stop()
	<-timer.C
	kill()
}
