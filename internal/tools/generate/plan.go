package generate

import (
	"context"
	"errors"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/operon-framework/operon/internal/tools/changes"
	"github.com/operon-framework/operon/internal/tools/project"
)

// Options say what the project's directory does not.
type Options struct {
	// Flags are settings that override those that the project keeps, as they stand on a command
	// line: "--max-description=0".
	Flags []string
	// Again loads and generates also where the stamp reports that nothing changed.
	Again bool
	// Tell gets a line now and then that says what is being done. It may be nil.
	Tell func(doing string)
}

// Result is what a run found.
type Result struct {
	// Changes are the files as they should be. Nothing is written until they are applied.
	Changes *changes.Set
	// Skipped tells that nothing changed since the last run, so that nothing was loaded.
	// Changes is empty then.
	Skipped bool
	// Notes are what a reader should know, a sentence each.
	Notes []string

	keep func() // remembers the run, nil if there is nothing to remember
}

// Apply writes the files that differ, all of them or none, and returns them in order. The next
// Plan is skipped if nothing changes until then.
func (r *Result) Apply(ctx context.Context) ([]string, error) {
	changed, err := r.Changes.Apply(ctx)
	if err == nil && r.keep != nil {
		r.keep()
	}
	return changed, err
}

// Diff tells what Apply would change, as a unified diff, "" when that is nothing.
func (r *Result) Diff() (string, error) {
	diff, err := r.Changes.Diff()
	if err == nil && diff == "" && r.keep != nil {
		r.keep()
	}
	return diff, err
}

// Plan works out what the generated files of the project in dir should hold.
//
// It fails, with all that is wrong, where the code, its markers or the settings are; nothing
// in the project is touched by it, however it ends.
func Plan(ctx context.Context, dir string, options Options) (*Result, error) {
	defaults, err := defaultsOf(dir) // by the name of the directory that the user gave, for errors
	if err != nil {
		return nil, err
	}
	_, absolute, err := project.NameOf(dir)
	if err != nil {
		return nil, err
	}
	set, err := changes.In(absolute)
	if err != nil {
		return nil, err
	}
	p := &planning{dir: absolute, options: options, started: time.Now(), settings: settingsSum(slices.Concat(defaults, options.Flags)), result: &Result{Changes: set}}
	p.stamp = readStamp(stampOf(p.dir))
	if !options.Again && p.stamp.fresh(p.dir, p.settings) {
		return &Result{Changes: set, Skipped: true, Notes: p.stamp.Notes}, nil
	}
	return p.result, p.generate(ctx)
}

// planning is one plan in the making.
type planning struct {
	dir     string
	options Options
	started time.Time
	result  *Result

	settings    string
	stamp       *stamp   // of the run before
	directories []string // of the sources that were loaded
	lasting     []string // notes that hold for the next run, too
}

func (p *planning) generate(ctx context.Context) error {
	wanted, err := wantedIn(p.dir, p.options.Flags)
	if err != nil {
		return err
	}
	p.result.Notes = wanted.notes
	whole, err := changes.In(p.dir)
	if err != nil {
		return err
	}
	for _, run := range wanted.runs {
		if wanted.outputs.described() {
			run.describe(whole)
		}
		p.tell("loading " + strings.Join(run.paths, " "))
		if err := p.run(ctx, run); err != nil {
			return err
		}
	}
	if err := wanted.outputs.write(ctx, p.dir, whole, p.result.Changes, p.note); err != nil {
		return err
	}
	p.removeOrphans(wanted.runs)
	p.result.keep = p.keep
	p.lasting = slices.Clone(p.result.Notes)
	return p.notePowers()
}

func (p *planning) tell(doing string) {
	if p.options.Tell != nil {
		p.options.Tell(doing)
	}
}

func (p *planning) note(text string) { p.result.Notes = append(p.result.Notes, text) }

// run lets all generators of a run work.
func (p *planning) run(ctx context.Context, run run) error {
	files := token.NewFileSet()
	shared, err := run.load(ctx, filepath.Join(p.dir, run.dir), files)
	if err != nil {
		return err
	}
	p.directories = append(p.directories, directoriesOf(shared.Roots)...)
	var problems []error
	doubted := false
	tried := run.try(shared)
	for _, job := range run.jobs {
		if tried.forbids(job.name) {
			continue // the packages tell why
		}
		if of, ok := job.generator.(placing); ok {
			job.generator = of.With(files, p.note, func() { doubted = true })
		}
		problems = append(problems, job.work(ctx, *shared, p.dir, p.result))
	}
	if err := told(p.dir, shared, problems); err != nil || !doubted {
		return err
	}
	return p.compiles(ctx)
}

// compiles asks the compiler of code that may not compile. What is missing of methods that are generated is no
// matter: they are being made.
func (p *planning) compiles(ctx context.Context) error {
	p.tell("compiling")
	said := project.Compile(ctx, p.dir, true)
	if said == nil {
		return nil
	}
	var lines []string
	for line := range strings.Lines(said.Error()) {
		if line = strings.TrimSpace(line); !strings.Contains(line, "DeepCopy") && line != "too many errors" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return project.NotCompiling(p.dir, errors.New(strings.Join(lines, "\n")))
}

// keep remembers what the plan depended on, once its files are as they should be.
func (p *planning) keep() {
	kept := &stamp{Settings: p.settings, Directories: p.directories, Outputs: outputs(p.dir, p.result.Changes), Notes: p.lasting}
	inputs, newest, err := kept.inputs(p.dir)
	if err != nil || newest.After(p.started.Add(-clockStep)) {
		return // something may have changed after it was read
	}
	kept.Inputs = inputs
	kept.write(stampOf(p.dir))
}

// clockStep is how far the modification time of a file may lag behind the clock.
const clockStep = 20 * time.Millisecond
