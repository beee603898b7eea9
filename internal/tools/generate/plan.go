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

// Options are settings that are not part of the project's directory.
type Options struct {
	// Flags override the project's settings, in the form of a command line: "--max-description=0".
	Flags []string
	// Again loads and generates even if the stamp reports that nothing changed.
	Again bool
	// Tell receives lines about the progress. It may be nil.
	Tell func(doing string)
}

// Result is the result of a run.
type Result struct {
	// Changes holds the wanted files. Nothing is written until they are applied.
	Changes *changes.Set
	// Skipped reports that nothing changed since the last run, so that nothing was loaded. Changes is empty in this case.
	Skipped bool
	// Notes are information for the user, in one sentence each.
	Notes []string

	keep func() // records the run; nil if there is nothing to record
}

// Apply writes the files that differ, all of them or none, and returns them in order. The next Plan is skipped if nothing
// changes in the meantime.
func (r *Result) Apply(ctx context.Context) ([]string, error) {
	changed, err := r.Changes.Apply(ctx)
	if err == nil && r.keep != nil {
		r.keep()
	}
	return changed, err
}

// Diff returns the changes that Apply would make as a unified diff, or "" if there are none.
func (r *Result) Diff() (string, error) {
	diff, err := r.Changes.Diff()
	if err == nil && diff == "" && r.keep != nil {
		r.keep()
	}
	return diff, err
}

// Plan determines the content of the generated files of the project in dir.
//
// It fails, with all errors, if the code, its markers or the settings are invalid. It never changes the project.
func Plan(ctx context.Context, dir string, options Options) (*Result, error) {
	defaults, err := defaultsOf(dir) // with the path of the directory that the user passed, for errors
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
	if project.WithoutGo(p.dir) {
		return p.result, p.generateWithoutGo(ctx)
	}
	return p.result, p.generate(ctx)
}

// planning is the state of one plan.
type planning struct {
	dir     string
	options Options
	started time.Time
	result  *Result

	settings    string
	stamp       *stamp   // of the last run
	directories []string // of the loaded sources
	files       []string // that were read in addition, such as Makefiles and headers
	lasting     []string // notes that apply to the next run, too
}

func (p *planning) generate(ctx context.Context) error {
	wanted, err := wantedIn(p.dir, p.options.Flags)
	if err != nil {
		return err
	}
	p.result.Notes, p.files = wanted.notes, wanted.files
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

// run runs all generators of a run.
func (p *planning) run(ctx context.Context, run run) error {
	files := token.NewFileSet()
	shared, err := run.load(ctx, filepath.Join(p.dir, run.dir), files)
	if err != nil {
		return err
	}
	shared.InputRule = reader{filepath.Join(p.dir, run.dir), &p.files}
	p.directories = append(p.directories, directoriesOf(shared.Roots)...)
	var problems []error
	doubted := false
	tried := run.try(shared)
	for _, job := range run.jobs {
		if tried.forbids(job.name) {
			continue // the packages have the errors
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

// compiles compiles code that may not compile. It ignores errors about generated methods, because they are being generated.
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

// keep records the plan's inputs after its files were written.
func (p *planning) keep() {
	kept := &stamp{Settings: p.settings, Directories: p.directories, Files: p.files, Outputs: outputs(p.dir, p.result.Changes), Notes: p.lasting}
	inputs, newest, err := kept.inputs(p.dir)
	if err != nil || newest.After(p.started.Add(-clockStep)) {
		return // a file may have changed after it was read
	}
	kept.Inputs = inputs
	kept.write(stampOf(p.dir))
}

// clockStep is the maximum time by which the modification time of a file may be behind the clock.
const clockStep = 20 * time.Millisecond
