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

// Play starts and ends replicas at random.
type Play struct {
	// Start starts a replica as a process.
	Start func() (*exec.Cmd, error)
	// Change changes an object. It is called repeatedly.
	Change func(context.Context, *rand.Rand) error
	// Seed repeats a play, as far as the timing of the machine allows it.
	Seed uint64
	// Lease is the lease duration of the replicas. A frozen replica sleeps for up to two leases.
	Lease time.Duration
	// Between is the maximum time between two acts, and Pace is the maximum time between two changes.
	Between, Pace time.Duration
	// Least and Most are the minimum and maximum number of replicas, including frozen ones.
	Least, Most int
	// Tell receives a message about each act.
	Tell func(format string, args ...any)

	random   *rand.Rand
	mu       sync.Mutex
	replicas []*replica
	// Acts counts the acts by name.
	Acts map[string]int
}

// replica is the process of a replica.
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

// Run plays for a duration.
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

// act executes one random act on a replica.
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
		_ = r.Wait() // the log shows how it ended
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

// freeze stops a replica, in about half of the cases for longer than its lease.
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
	_ = r.Process.Signal(syscall.SIGCONT) // it may already have ended
}

// Thaw wakes up all frozen replicas.
func (p *Play) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.replicas {
		p.wakeUp(r)
	}
}

// End stops all replicas, and kills the ones that do not stop in time.
func (p *Play) End() error {
	p.Thaw()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.replicas {
		_ = r.Process.Signal(syscall.SIGTERM) // it may already have ended
	}
	var errs error
	patient, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
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
