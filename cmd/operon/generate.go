package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/operon-framework/operon/internal/tools/generate"
)

func newGenerate() *cobra.Command {
	var settings generate.Settings
	var how generating
	command := &cobra.Command{
		Use:   "generate [DIR]",
		Short: "Generate everything that a project's Go types tell",
		Long: `Generate what can be derived from the Go types of the project in DIR (by default the
current folder): deepcopy methods, CustomResourceDefinitions, Roles, and webhook configurations
where the code has markers for them.

What a project wants to have different it says once, in its main package:

  //go:generate operon generate --max-description 0

Flags on the command line override that line. In a project of kubebuilder or Operator SDK the
controller-gen lines of its Makefile say what is generated, and where.

Only files that differ are written, all of them or none.`,
		Example: `  operon generate
  operon generate --check             # for CI: fails with a diff where something is stale
  operon generate --dry-run examples/memcached
  operon generate --docs --schemas --manifests --dry-run examples/memcached   # and what is made on request`,
		Args: oneFolder,
	}
	set := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	settings.AddFlags(set)
	command.Flags().AddFlagSet(set)
	command.Flags().BoolVar(&how.check, "check", false, "write nothing; fail with a diff where generated files are stale")
	command.Flags().BoolVar(&how.dryRun, "dry-run", false, "write nothing; list the files that would change")
	command.Flags().BoolVar(&how.again, "again", false, "generate also where nothing changed since the last run")
	command.Flags().StringVarP(&how.output, "output", "o", "text", "how to print what changed, text or json")
	command.RunE = func(command *cobra.Command, args []string) error {
		if how.output != "text" && how.output != "json" {
			return usageError{fmt.Errorf("-o %s: want text or json", how.output)}
		}
		if how.check && how.dryRun {
			return usageError{errors.New("--check and --dry-run both write nothing: give one of them")}
		}
		// Most of what a short run allocates is used until its end.
		debug.SetGCPercent(400)
		return how.run(command, folderOf(args), given(set))
	}
	return command
}

// generating is how `operon generate` goes about it.
type generating struct {
	check, dryRun, again bool
	output               string
}

// generated is what it prints for programs.
type generated struct {
	// Changed are the files that were written or removed, or would be.
	Changed []string `json:"changed"`
	// Skipped tells that nothing changed since the last run.
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

// verdict fails a check that found something.
func (g generating) verdict(found generated) error {
	if !g.check || len(found.Changed) == 0 {
		return nil
	}
	stale := "1 generated file is stale"
	if n := len(found.Changed); n > 1 {
		stale = fmt.Sprintf("%d generated files are stale", n)
	}
	return fmt.Errorf("%s: run `operon generate` and commit what it writes", stale)
}

func (g generating) print(command *cobra.Command, found generated) error {
	out := command.OutOrStdout()
	if g.output == "json" {
		found.Changed = append([]string{}, found.Changed...) // a list also where it is empty
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(found)
	}
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

// progress is a line on a terminal that tells what is being done, once that takes a while.
type progress struct {
	out   *os.File
	timer *time.Timer
	shown atomic.Bool
}

// patience is how long nothing is said.
const patience = 2 * time.Second

func newProgress(out io.Writer) *progress {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
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
		fmt.Fprintf(p.out, "\r\x1b[2K  %s", doing)
	})
}

func (p *progress) done() {
	if p.timer != nil {
		p.timer.Stop()
	}
	if p.shown.Swap(false) {
		fmt.Fprint(p.out, "\r\x1b[2K")
	}
}

// given are the flags of set that stand on the command line.
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
