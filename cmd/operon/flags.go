package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
	"k8s.io/klog/v2"

	"github.com/operon-framework/operon/internal/tools/up"
)

// clusterVariable names the environment variable for the local cluster. Flags take precedence.
const clusterVariable = "OPERON_CLUSTER"

// whereFlags adds the flags that choose a cluster.
func whereFlags(command *cobra.Command, where *up.Where) {
	set := command.Flags()
	set.StringVar(&where.Name, "cluster", "", `local cluster (default $OPERON_CLUSTER, or "default")`)
	set.StringVar(&where.Kubeconfig, "kubeconfig", "", "kubeconfig `FILE` of another cluster; without it and --context, no kubeconfig is read")
	set.StringVar(&where.Context, "context", "", "context of the kubeconfig (with --kubeconfig, default its current one)")
	renamed(command, "name", "cluster")
}

// resolveCluster rejects flags that name two clusters, and uses the environment if none does.
func resolveCluster(where *up.Where) error {
	if err := checkCluster(where); err != nil {
		return err
	}
	if where.IsLocal() {
		where.Name = cmp.Or(where.Name, os.Getenv(clusterVariable))
	}
	return nil
}

// resolveDown is resolveCluster for commands that remember where the project ran. The environment counts only if it has not run.
func resolveDown(options *up.DownOptions) error {
	options.Default = os.Getenv(clusterVariable)
	return checkCluster(&options.Where)
}

// checkCluster rejects flags that name two clusters.
func checkCluster(where *up.Where) error {
	if where.Name != "" && !where.IsLocal() {
		return usageError{errors.New("--cluster is for local clusters, --kubeconfig and --context are for others: use one or the other")}
	}
	return nil
}

// renamed adds the old name of a flag as a hidden flag. Its use is an error that states the new name.
func renamed(command *cobra.Command, old, now string) {
	gone(command, old, "is called --"+now+" now")
}

// gone adds a removed flag as a hidden flag. Its use is an error that states what replaced it.
func gone(command *cobra.Command, old, became string) {
	command.Flags().Var(formerFlag(became), old, "")
	command.Flags().Lookup(old).NoOptDefVal = "true"
	if err := command.Flags().MarkHidden(old); err != nil {
		panic(err) // it was added in the previous line
	}
}

// formerFlag states what replaced a removed flag.
type formerFlag string

// String implements pflag.Value.
func (f formerFlag) String() string { return "" }

// Type implements pflag.Value.
func (f formerFlag) Type() string { return "former" }

// Set implements pflag.Value.
func (f formerFlag) Set(string) error {
	return formerError{string(f)}
}

// formerError states what replaced a flag.
type formerError struct{ became string }

func (e formerError) Error() string { return "this flag " + e.became }

// flagError returns the error for a removed flag as users read it, or nil for other errors.
func flagError(err error) error {
	var former formerError
	var invalid *pflag.InvalidValueError
	if errors.As(err, &former) && errors.As(err, &invalid) {
		return usageError{fmt.Errorf("--%s %s", invalid.GetFlag().Name, former.became)}
	}
	return nil
}

// Values of the flag --color.
const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

// global are the values of the flags that all commands have.
var global struct {
	verbose, quiet bool
	color          string
}

// globalFlags adds the flags that all commands have.
func globalFlags(root *cobra.Command) {
	set := root.PersistentFlags()
	set.BoolVarP(&global.verbose, "verbose", "v", false, "print what the Kubernetes client libraries log")
	set.BoolVarP(&global.quiet, "quiet", "q", false, "print no progress, only results and errors")
	set.StringVar(&global.color, "color", colorAuto, "`WHEN` to use colors: auto, always or never; auto honors $NO_COLOR")
	root.PersistentPreRunE = func(command *cobra.Command, _ []string) error {
		switch global.color {
		case colorAuto, colorAlways, colorNever:
		default:
			return usageError{fmt.Errorf("--color %s: want auto, always or never", global.color)}
		}
		if global.verbose && global.quiet {
			return usageError{errors.New("use --verbose or --quiet, not both")}
		}
		if !global.verbose {
			klog.SetLogger(logr.Discard()) // client libraries return their errors; their logs are for developers
		}
		return checkTimeout(command)
	}
}

// colored reports whether output to a file has colors.
func colored(file *os.File) bool {
	if global.color == colorAuto {
		return term.IsTerminal(int(file.Fd())) && os.Getenv("NO_COLOR") == ""
	}
	return global.color == colorAlways
}

// progressTo returns the writer for lines about the progress of a command, which are written to w unless --quiet is set.
func progressTo(w io.Writer) io.Writer {
	if global.quiet {
		return io.Discard
	}
	return w
}

// checkTimeout rejects a time limit that leaves no time.
func checkTimeout(command *cobra.Command) error {
	limit := command.Flags().Lookup("timeout")
	if limit == nil || !limit.Changed {
		return nil
	}
	if duration, err := command.Flags().GetDuration("timeout"); err == nil && duration <= 0 {
		return usageError{fmt.Errorf("--timeout %s: want a duration above 0, such as 2m", limit.Value)}
	}
	return nil
}

// progressShown reports whether progress is printed to a file: to a terminal, unless --quiet is set.
func progressShown(file *os.File) bool { return !global.quiet && term.IsTerminal(int(file.Fd())) }
