package generate

import (
	"context"
	"path/filepath"

	"github.com/operon-framework/operon/internal/changes"
)

// Options say what the project's folder does not.
type Options struct {
	// Flags are settings that override those that the project keeps, as they stand on a command
	// line: "--max-description=0".
	Flags []string
	// Again loads and generates also where the stamp says that nothing changed.
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
}

// Plan works out what the generated files of the project in dir should hold.
//
// It fails, with all that is wrong, where the code, its markers or the settings are; nothing
// in the project is touched by it, however it ends.
func Plan(ctx context.Context, dir string, options Options) (*Result, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	runs, err := runsOf(absolute, options.Flags)
	if err != nil {
		return nil, err
	}
	set, err := changes.In(absolute)
	if err != nil {
		return nil, err
	}
	outputs, err := outputsOf(absolute, options.Flags)
	if err != nil {
		return nil, err
	}
	whole, err := changes.In(absolute)
	if err != nil {
		return nil, err
	}
	result := &Result{Changes: set}
	for _, run := range runs {
		if outputs.described() {
			run.describe(whole)
		}
		if err := run.generate(ctx, absolute, options, result); err != nil {
			return nil, err
		}
	}
	if err := outputs.write(absolute, whole, set); err != nil {
		return nil, err
	}
	return result, nil
}
