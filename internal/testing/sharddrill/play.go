package sharddrill

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Play lets replicas come and go at random.
type Play struct {
	// Start starts a replica as a process.
	Start func() (*exec.Cmd, error)
	// Change changes some object. It is called again and again.
	Change func(context.Context, *rand.Rand) error
	// Seed makes the same play again, as far as the machine plays along.
	Seed uint64
	// Lease of the replicas: a frozen one sleeps for up to two.
	Lease time.Duration
	// Between two acts passes up to this, between two changes up to Pace.
	Between, Pace time.Duration
	// Least and Most are how many replicas there are, the frozen ones included.
	Least, Most int
	// Tell is told what happens.
	Tell func(format string, args ...any)

	random   *rand.Rand
	mu       sync.Mutex
	replicas []*replica
	// Acts counts what was done, by name.
	Acts map[string]int
}

// replica is a process.
type replica struct {
	*exec.Cmd
	ended  chan struct{}
	thaw   *time.Timer
	frozen bool
}

// Begin starts the first replicas.
func (p *Play) Begin() error {
	p.random, p.Acts = rand.New(rand.NewPCG(p.Seed, p.Seed)), map[string]int{}
	for range p.Least {
		if err := p.add(); err != nil {
			return err
		}
	}
	return nil
}

// Run plays for a while.
func (p *Play) Run(ctx context.Context, during time.Duration) error {
	playing, cancel := context.WithTimeout(ctx, during)
	defer cancel()
	failed := make(chan error, 1)
	go func() { failed <- p.change(playing) }()
	for wait(playing, time.Duration(p.random.Int64N(int64(p.Between)))) {
		if err := p.act(); err != nil {
			return err
		}
	}
	return errors.Join(<-failed, ctx.Err())
}

// change changes objects until ctx ends.
func (p *Play) change(ctx context.Context) error {
	random := rand.New(rand.NewPCG(p.Seed, p.Seed+1))
	for wait(ctx, time.Duration(random.Int64N(int64(p.Pace)))) {
		if err := p.Change(ctx, random); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// act does one thing to some replica.
func (p *Play) act() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.replicas {
		select {
		case <-r.ended:
			return fmt.Errorf("replica %d ended by itself: %v", r.Process.Pid, r.ProcessState)
		default:
		}
	}
	awake := slices.DeleteFunc(slices.Clone(p.replicas), func(r *replica) bool { return r.frozen })
	act := p.random.IntN(4)
	if len(p.replicas) < p.Least || len(awake) < 2 || act == 0 && len(p.replicas) < p.Most {
		return p.add()
	}
	r := awake[p.random.IntN(len(awake))]
	switch act {
	case 1:
		return p.end(r, "kill", syscall.SIGKILL)
	case 2:
		return p.end(r, "stop", syscall.SIGTERM)
	case 3:
		return p.freeze(r)
	}
	return nil
}

func (p *Play) did(what string, r *replica) {
	p.Acts[what]++
	p.Tell("%s %d", what, r.Process.Pid)
}

func (p *Play) add() error {
	command, err := p.Start()
	if err != nil {
		return err
	}
	r := &replica{Cmd: command, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		_ = r.Wait() // how it ended is seen in the log
	}()
	p.replicas = append(p.replicas, r)
	p.did("add", r)
	return nil
}

func (p *Play) end(r *replica, what string, signal syscall.Signal) error {
	p.replicas = slices.DeleteFunc(p.replicas, func(other *replica) bool { return other == r })
	p.did(what, r)
	return r.Process.Signal(signal)
}

// freeze stops a replica, about half of the times for longer than its lease runs.
func (p *Play) freeze(r *replica) error {
	r.frozen = true
	p.did("freeze", r)
	r.thaw = time.AfterFunc(time.Duration(p.random.Int64N(int64(2*p.Lease))), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.wakeUp(r)
	})
	return r.Process.Signal(syscall.SIGSTOP)
}

func (p *Play) wakeUp(r *replica) {
	if !r.frozen {
		return
	}
	r.frozen = false
	p.did("thaw", r)
	_ = r.Process.Signal(syscall.SIGCONT) // it may have ended
}

// Thaw wakes up whoever is frozen.
func (p *Play) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.replicas {
		p.wakeUp(r)
	}
}

// End stops all replicas, and kills those that do not stop in time.
func (p *Play) End() error {
	p.Thaw()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.replicas {
		_ = r.Process.Signal(syscall.SIGTERM) // it may have ended
	}
	var errs error
	patient, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for _, r := range p.replicas {
		select {
		case <-r.ended:
		case <-patient.Done():
			errs = errors.Join(errs, fmt.Errorf("replica %d does not stop", r.Process.Pid), r.Process.Kill())
		}
	}
	p.replicas = nil
	return errs
}
