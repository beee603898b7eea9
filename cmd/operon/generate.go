package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/operon-framework/operon/internal/tools/generate"
	"github.com/operon-framework/operon/internal/tools/terminal"
)

func newGenerate() *cobra.Command {
	var settings generate.Settings
	var how generating
	command := &cobra.Command{
		Use:   "generate [DIR]",
		Short: "Generate CRDs, RBAC, deepcopy code and manifests from Go sources",
		Long: `Generate what can be derived from the Go types of the project in DIR (default: the
current directory): deepcopy methods, CRDs, Roles, and webhook configurations if the
code has markers for them.

To change the defaults for a project, write the flags once in its main package:

  //go:generate operon generate --max-description 0

Flags on the command line override that line. In a kubebuilder or Operator SDK project, the
controller-gen lines of its Makefile state what is generated, and where.

In a project without Go, the CRDs and permissions follow from the Helm charts in watches.yaml.

Only files that differ are written, all of them or none.`,
		Example: `  operon generate
  operon generate --check             # for CI: exits with 1 and a diff if something is stale
  operon generate --dry-run examples/memcached
  operon generate --docs --schemas --manifests --dry-run examples/memcached   # everything that is optional`,
		Args: oneDirectory,
	}
	set := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	settings.AddFlags(set)
	command.Flags().AddFlagSet(set)
	command.Flags().BoolVar(&how.check, "check", false, "write nothing; exit with 1 and a diff if generated files are stale")
	command.Flags().BoolVar(&how.dryRun, "dry-run", false, "write nothing; list the files that would change")
	command.Flags().BoolVar(&how.again, "no-cache", false, "generate even if nothing changed since the last run")
	renamed(command, "again", "no-cache")
	how.output.addFlag(command, "the result")
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := how.output.check(); err != nil {
			return err
		}
		if how.check && how.dryRun {
			return usageError{errors.New("--check and --dry-run both write nothing: use one of them")}
		}
		if err := mistakenValue(set, args); err != nil {
			return err
		}
		// Most memory that a short run allocates is used until its end.
		debug.SetGCPercent(400)
		return how.run(command, directoryOf(args), given(set))
	}
	return command
}

// mistakenValue returns an error if the project's directory does not exist and looks like the value of a flag with an optional
// value, as in --docs DIR: such a value must follow an equal sign.
func mistakenValue(set *pflag.FlagSet, args []string) (err error) {
	if len(args) == 0 {
		return nil
	}
	if _, missing := os.Stat(args[0]); !errors.Is(missing, fs.ErrNotExist) {
		return nil
	}
	set.VisitAll(func(given *pflag.Flag) {
		if given.Changed && given.NoOptDefVal != "" && given.Value.Type() != "bool" && given.Value.String() == given.NoOptDefVal {
			err = usageError{fmt.Errorf("directory %s does not exist; if it is the value of --%s, write --%s=%s", args[0], given.Name, given.Name, args[0])}
		}
	})
	return err
}

// generating contains the settings of `operon generate`.
type generating struct {
	check, dryRun, again bool
	output               output
}

// generated is the output for programs.
type generated struct {
	// Changed are the files that were written or removed, or would be with --dry-run or --check.
	Changed []string `json:"changed"`
	// Skipped means that nothing has changed since the last run.
	Skipped bool     `json:"skipped"`
	Notes   []string `json:"notes,omitempty"`
	Diff    string   `json:"diff,omitempty"`
}

func (g generating) run(command *cobra.Command, dir string, flags []string) error {
	options := generate.Options{Flags: flags, Again: g.again}
	progress := newProgress(command.ErrOrStderr())
	options.Tell = progress.tell
	result, err := generate.Plan(command.Context(), dir, options)
	progress.done()
	if err != nil {
		return err
	}
	found := generated{Skipped: result.Skipped, Notes: result.Notes}
	switch {
	case g.check:
		found.Diff, err = result.Diff()
		if err == nil {
			found.Changed, err = result.Changes.Stale()
		}
	case g.dryRun:
		found.Changed, err = result.Changes.Stale()
	default:
		found.Changed, err = result.Apply(command.Context())
	}
	if err != nil {
		return err
	}
	return errors.Join(g.print(command, found), g.verdict(found))
}

// verdict returns an error if a check found changes.
func (g generating) verdict(found generated) error {
	if !g.check || len(found.Changed) == 0 {
		return nil
	}
	stale := "1 generated file is stale"
	if n := len(found.Changed); n > 1 {
		stale = fmt.Sprintf("%d generated files are stale", n)
	}
	return exitError{exitFindings, fmt.Errorf("%s: run `operon generate` and commit the result", stale)}
}

func (g generating) print(command *cobra.Command, found generated) error {
	found.Changed = append([]string{}, found.Changed...) // encoded as a list even if it is empty
	text := func(out io.Writer) error { return g.text(command, out, found) }
	return g.output.print(command.OutOrStdout(), forms{facts: found, text: text})
}

func (g generating) text(command *cobra.Command, out io.Writer, found generated) error {
	for _, note := range found.Notes {
		fmt.Fprintln(command.ErrOrStderr(), "note:", note)
	}
	if g.check {
		_, err := fmt.Fprint(out, found.Diff)
		return err
	}
	for _, file := range found.Changed {
		fmt.Fprintln(out, file)
	}
	return nil
}

// progress is a line on a terminal that shows the current step when it takes long.
type progress struct {
	out   *os.File
	timer *time.Timer
	shown atomic.Bool
}

// patience is the time after which progress is shown.
const patience = 2 * time.Second

func newProgress(out io.Writer) *progress {
	if cleaned, ok := out.(*terminal.Writer); ok {
		out = cleaned.To
	}
	file, ok := out.(*os.File)
	if !ok || !progressShown(file) {
		return &progress{}
	}
	return &progress{out: file}
}

func (p *progress) tell(doing string) {
	if p.out == nil {
		return
	}
	p.done()
	p.timer = time.AfterFunc(patience, func() {
		p.shown.Store(true)
		fmt.Fprintf(p.out, "\r\x1b[2K  %s", terminal.Line(doing))
	})
}

// count shows how many of several things are done. It may be called from several goroutines, one at a time.
func (p *progress) count(done, all int, doing string) {
	if p.out == nil || done%25 != 0 && done != all {
		return
	}
	p.shown.Store(true)
	fmt.Fprintf(p.out, "\r\x1b[2K  %d of %d, %s", done, all, terminal.CutMiddle(terminal.Line(doing), terminal.DefaultWidth/2))
}

func (p *progress) done() {
	if p.timer != nil {
		p.timer.Stop()
	}
	if p.shown.Swap(false) {
		fmt.Fprint(p.out, "\r\x1b[2K")
	}
}

// given returns the flags of set that are on the command line.
func given(set *pflag.FlagSet) []string {
	var flags []string
	set.VisitAll(func(flag *pflag.Flag) {
		value := flag.Value.String()
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			value = strings.Join(list.GetSlice(), ",")
		}
		if flag.Changed {
			flags = append(flags, "--"+flag.Name+"="+value)
		}
	})
	return flags
}
