package durable

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/internal/core/outcome"
)

// Config configures a run. Journal, Hold, Release, Stop, Client and REST may be nil.
type Config struct {
	// Object identifies what the run is for. It is unique.
	Object string
	// Journal is the stored journal. It is not changed.
	Journal *journal.Journal
	// Save stores a journal, on condition that the stored one is still the one that was read, or saved last.
	// Otherwise it returns ErrSuperseded. The run continues with the journal that it returns.
	Save func(ctx context.Context, journal *journal.Journal) (*journal.Journal, error)
	// Confirm returns ErrSuperseded if another operator has written since.
	Confirm func(ctx context.Context) error
	// Hold is called before the first step begins that may have to be undone. Release is called when the run has
	// ended.
	Hold, Release func(ctx context.Context) error
	// Cancel is the reason why the run is canceled, or empty if it is not.
	Cancel string
	// Stop is done when the run is canceled while a step runs.
	Stop context.Context
	// Clock is the clock of the run.
	Clock clock.PassiveClock
	// Reader, Client and REST are passed to attempts.
	Reader Reader
	Client client.Client
	REST   *rest.Config
}

// Run is one call of the work. Do runs a step, and Begin begins another run. Objects that are read by Get and List
// are watched until the next call.
type Run struct {
	Reader
	cfg     Config
	journal *journal.Journal
	steps   []plain // steps reached so far, in the order of the journal
	halted  error   // the reason why no further step is executed in this call
	paused  bool    // the work itself ended the call, outside of a step
	another bool    // another run follows when this one is over
	told    time.Time
}

// New returns a run that continues where its journal ends.
func New(cfg Config) *Run { return &Run{Reader: cfg.Reader, cfg: cfg, journal: cfg.Journal.DeepCopy()} }

// Journal returns the current journal of the run, which may not be stored yet.
func (r *Run) Journal() *journal.Journal { return r.journal }

// ErrSuperseded reports that another operator has continued the run.
var ErrSuperseded = errors.New("another operator has continued this workflow")

// errStopped ends the work where a run that is over, or being undone, does not continue.
var errStopped = errors.New("the run has ended")

// suspended ends the work for now.
type suspended struct{ outcome outcome.Outcome }

func (s *suspended) Error() string { return s.outcome.Message() }

// halt prevents further steps in this call.
func (r *Run) halt(why error) error {
	if r.halted == nil {
		r.halted = why
	}
	return r.halted
}

// begun creates the first journal of an object.
func (r *Run) begun() {
	if r.journal == nil {
		r.journal = journal.New(r.cfg.Object, 1, "", r.cfg.Clock.Now())
	}
}

// Begin states what the work is to achieve. Each different want gets its own run, and a run that has begun ends
// before the next one begins. Begin returns the want of the current run, which may be an earlier one. A stored want
// is compared as a W: a new field of the type makes a difference only where it is not zero. Work that never calls
// Begin is done once in the life of the object.
func Begin[W any](run *Run, want W) (W, error) {
	text, err := json.Marshal(want)
	if err != nil {
		return want, run.halt(fmt.Errorf("the input of the workflow, a %T, cannot be stored as JSON: %w", want, err))
	}
	if len(run.steps) > 0 {
		return want, run.halt(&journal.ChangedError{Why: "what the work is for was said after its first step"})
	}
	var stored W
	if j := run.journal; j != nil && json.Unmarshal([]byte(j.Input), &stored) == nil {
		if again, err := json.Marshal(stored); err == nil && bytes.Equal(again, text) {
			text = []byte(j.Input) // stored before the type got, or lost, a field
		}
	}
	current := run.begin(string(text))
	var now W
	if err := json.Unmarshal([]byte(current), &now); err != nil {
		return want, run.misread("what the run is for", want, err)
	}
	return now, nil
}

func (r *Run) begin(want string) (current string) {
	j := r.journal
	switch {
	case j == nil:
		r.journal = journal.New(r.cfg.Object, 1, want, r.cfg.Clock.Now())
	case j.Input == "" && len(j.Steps) == 0 && !j.Phase.Over(): // canceled before it has begun
		j.Input = want
	case j.Input == want:
	case j.Phase.Over() && r.cfg.Cancel == "":
		r.journal = journal.New(r.cfg.Object, j.Run+1, want, r.cfg.Clock.Now())
	default:
		r.another = true
	}
	return r.journal.Input
}

// Current returns the want of the run that has begun, as it was passed to Begin.
func Current[W any](run *Run) (want W, ok bool, err error) {
	if run.journal == nil || run.journal.Input == "" {
		return want, false, nil
	}
	if err := json.Unmarshal([]byte(run.journal.Input), &want); err != nil {
		return want, false, run.misread("what the run is for", want, err)
	}
	return want, true, nil
}

// Wait ends the call before the next step, until something changes that the run has read. The caller must return
// the error. Wait does not delay the undoing of steps that the code reached before it.
func (r *Run) Wait(message string) error {
	return r.pause(&suspended{outcome.Wait(ReasonWaiting, message)})
}

// WaitFor is Wait for something that sends no event: the work is also called again after the duration.
func (r *Run) WaitFor(after time.Duration, message string) error {
	return r.pause(&suspended{outcome.Retry(max(after, time.Millisecond), ReasonWaiting, message)})
}

// Retry ends the call before the next step with an error that may be temporary, such as that of a read. Any other
// error of its own that the work returns fails the run. Retry does not delay the undoing of steps that the code
// reached before it.
func (r *Run) Retry(err error) error { return r.pause(err) }

func (r *Run) pause(why error) error {
	r.paused = r.paused || r.halted == nil
	return r.halt(why)
}

// Cancel cancels the run: steps from here on are only undone.
func (r *Run) Cancel(why string) {
	r.begun()
	r.journal.Cancel(why)
}

// Artifact publishes something that the run created, by name. A later Artifact with the same name replaces it. A
// value that is too long, or one artifact too many, fails the run.
func (r *Run) Artifact(name, value string) {
	r.begun()
	if r.journal.Phase != journal.Running {
		return
	}
	all := maps.Clone(r.journal.Artifacts)
	if all == nil {
		all = map[string]string{}
	}
	all[name] = value
	if len(name)+len(value) > journal.MaxArtifact || len(all) > journal.MaxArtifacts {
		r.journal.Break(fmt.Sprintf("the artifact %q has %d bytes and is one of %d: at most %d of %d bytes can be stored; store it elsewhere, and return its location",
			name, len(value), len(all), journal.MaxArtifacts, journal.MaxArtifact))
		return
	}
	r.journal.Artifacts = all
}

// misread prevents further steps if the stored value has another type now. If the run is over, the value does not have to be
// readable.
func (r *Run) misread(what string, want any, err error) error {
	if r.journal.Phase.Over() {
		return r.halt(errStopped)
	}
	return r.halt(&journal.ChangedError{Why: fmt.Sprintf("%s is not a %T any more: %v", what, want, err)})
}

// do executes a step, if it is due.
func (r *Run) do(ctx context.Context, s plain) (string, error) {
	if r.halted != nil {
		return "", r.halted
	}
	r.begun()
	place := len(r.steps)
	next, err := r.journal.Reach(place, s.name, r.cfg.Clock.Now())
	if err != nil {
		return "", r.halt(err)
	}
	if place < len(r.journal.Steps) || next != journal.Stop {
		r.steps = append(r.steps, s)
	}
	switch next {
	case journal.Recall:
		return r.journal.Steps[place].Result, nil
	case journal.Fail:
		return "", &StepError{Step: s.name, Message: r.journal.Steps[place].Message}
	case journal.Stop:
		return "", r.halt(errStopped)
	}
	return taken{r, s, place}.attempt(ctx, next)
}

// attemptAt returns the argument for the code of the step at a place.
func (r *Run) attemptAt(place int) *Attempt {
	step := r.journal.Steps[place]
	return &Attempt{
		Reader: r.cfg.Reader, Client: r.cfg.Client, REST: r.cfg.REST,
		Key: r.journal.Key(step.Name), Number: int(step.Attempts), run: r, place: place,
	}
}

// save stores the journal.
func (r *Run) save(ctx context.Context) error {
	saved, err := r.cfg.Save(ctx, r.journal)
	if err != nil {
		return err
	}
	r.journal, r.told = saved.DeepCopy(), r.cfg.Clock.Now()
	return nil
}

// progressPeriod is how often progress is written.
const progressPeriod = 2 * time.Second

func (r *Run) progress(ctx context.Context, place int, text string) error {
	r.journal.Steps[place].Progress = text[:min(len(text), 200)]
	if r.cfg.Clock.Since(r.told) < progressPeriod {
		return nil
	}
	return r.save(ctx)
}
