package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/operon-framework/operon/internal/prove/report"
	"github.com/operon-framework/operon/internal/tools/generate/kustomize"
	"github.com/operon-framework/operon/internal/tools/projectfile"
	"github.com/operon-framework/operon/prove"
)

// proving contains the settings of the command.
type proving struct {
	target         prove.Target
	budget, settle time.Duration
	plans, workers int
	seed           int64
	replay, out    string
	output         output
	kubeconfig     string
	role, failFast bool
	trustFile      bool
}

func newProve() *cobra.Command {
	v := &proving{}
	rbac := ""
	command := &cobra.Command{
		Use:   "prove [DIR]",
		Short: "Find reliability bugs by fault injection",
		Long: `Find reliability bugs of the operator project in DIR (default: the current directory), or of any
operator that --run starts, in any language, by fault injection.

The command starts a Kubernetes cluster and runs the operator without faults, to learn what it does.
Then it runs the operator again and again, each time with another fault that can happen in a real
cluster: the operator is killed between two writes, writes are answered with conflicts and timeouts,
its cache is stale, its pods fail, its fields are changed. Each time the operator must converge to the
same state, leave nothing behind, and become quiescent.

A violation is reproduced before it is reported, with a file that replays it. The exit code is 0 if
all invariants held, 1 if there are failures, and 2 if the operator could not be tested. Notes, and the
findings in the file that --accept names, do not count.`,
		Example: `  operon prove examples/memcached
  operon prove --budget 10m --plans 1000
  operon prove --run './my-operator --port {port}' --crds crds/ --samples samples/ --rbac roles.yaml
  operon prove --print-rbac               # print the least-privilege Role that the operator needs
  operon prove --replay operon-prove/plans/01-same-state-kill.json`,
		Args: oneDirectory,
	}
	set := command.Flags()
	set.StringVar(&v.target.Main, "main", "", "`DIR` of the main package, if the project has several")
	set.StringVar(&v.target.Run, "run", "", "shell `COMMAND` that starts the operator; {port} is replaced by a free port, {namespace} by the namespace of the operator")
	set.StringVar(&v.target.CRDs, "crds", "", "file or directory of its CRDs (default config/crd)")
	set.StringVar(&v.target.Samples, "samples", "", "file or directory of sample objects to test with (default config/samples)")
	set.StringVar(&v.target.Setup, "setup", "", "file or directory of objects to create before the operator starts")
	set.StringVar(&v.target.Steps, "steps", "", "`FILE` of your own scenarios")
	set.StringVar(&v.target.Namespace, "namespace", "", "restrict the operator to this namespace; test cases then run one by one")
	set.StringVar(&rbac, "rbac", "", "`PATH` of the Roles that the operator has, with --run")
	set.BoolVar(&v.role, "print-rbac", false, "print the least-privilege Role that the operator needs")
	set.DurationVar(&v.budget, "budget", prove.DefaultBudget, "time limit for starting new test cases")
	set.IntVar(&v.plans, "plans", prove.DefaultPlans, "maximum number of test cases")
	set.BoolVar(&v.failFast, "fail-fast", false, "start no further test case after the first failure")
	set.DurationVar(&v.settle, "settle", prove.DefaultSettle, "how long an operator must be quiescent without faults to count as converged; longer if it waits longer between retries")
	set.IntVar(&v.workers, "workers", 0, "number of parallel test cases (default: three times the processors, at most 32)")
	set.Int64Var(&v.seed, "seed", 1, "seed of the order of equal test cases")
	set.StringVar(&v.target.Accept, "accept", "", "`FILE` of findings that are accepted, with the reasons")
	set.StringVar(&v.replay, "replay", "", "replay the finding of a test case `FILE`")
	set.BoolVar(&v.trustFile, "trust-file", false, "with --replay: run the command, and read the paths, that the test case file names")
	set.StringVar(&v.out, "out", prove.Output, "`DIR` of the reports")
	v.output.addFlag(command, "the result")
	set.StringVar(&v.kubeconfig, "kubeconfig", "", "kubeconfig `FILE` of a disposable cluster to use instead of a new local one")
	command.SetFlagErrorFunc(func(command *cobra.Command, err error) error {
		var missing *pflag.ValueRequiredError
		if errors.As(err, &missing) && missing.GetFlag().Name == "rbac" {
			return usageError{errors.New("--rbac needs a PATH of Roles; --print-rbac prints the Role that the operator needs")}
		}
		return command.Root().FlagErrorFunc()(command, err)
	})
	readsProjectFile(command, projectfile.Excluded{"main": {"run", "replay"}})
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := v.accept(args, rbac); err != nil {
			return err
		}
		return v.run(command.Context(), command.OutOrStdout())
	}
	return command
}

// accept reads the arguments, and rejects combinations of flags that contradict each other.
func (v *proving) accept(args []string, rbac string) error {
	v.target.RBAC = rbac
	if err := v.output.check(); err != nil {
		return err
	}
	switch {
	case v.trustFile && v.replay == "":
		return usageError{errors.New("--trust-file is for --replay")}
	case v.replay != "":
		return v.acceptReplay(args)
	case v.target.Run == "" && rbac != "":
		return usageError{errors.New("--rbac needs --run; the Roles of a project are derived from its code")}
	case v.target.Run != "" && len(args) > 0:
		return usageError{fmt.Errorf("--run starts the operator, so %q cannot be its project: remove one of them", args[0])}
	case v.target.Run != "" && v.target.Samples == "":
		return usageError{errors.New("--run needs --samples PATH: sample objects of the operator's kinds")}
	case v.plans < 1, v.budget <= 0, v.settle <= 0, v.workers < 0:
		return usageError{errors.New("--plans, --budget and --settle must be greater than 0, and --workers must not be negative")}
	case v.target.Run == "":
		v.target.Dir = directoryOf(args)
	}
	return nil
}

// run tests, prints the report, and returns an error with the exit code.
func (v *proving) run(ctx context.Context, out io.Writer) (err error) {
	folder, remove, err := prove.Folder()
	if err != nil {
		return unproven(err)
	}
	defer func() { err = errors.Join(err, remove()) }()
	progress := report.NewProgress(progressTo(os.Stderr), progressShown(os.Stderr), lookOf(os.Stderr))
	defer progress.Close()
	found, options, stop, err := v.test(ctx, folder, progress)
	if found == nil {
		progress.Close()
		return unproven(errors.Join(err, stop()))
	}
	files, writing := prove.Write(v.out, found, v.target, options) // first: whoever interrupts may not wait for the cluster to stop
	err = errors.Join(err, stop())
	progress.Close()
	if err := errors.Join(err, writing, v.print(out, found, files)); err != nil {
		return unproven(err)
	}
	if found.Failures() > 0 {
		return exitError{code: exitFindings}
	}
	return nil
}

// test loads the operator, starts a cluster, and runs the test cases with faults there. It returns a function that stops the cluster, if it was
// started.
func (v *proving) test(ctx context.Context, folder string, progress *report.Progress) (found *report.Report, options prove.Options, stop func() error, err error) {
	stop = func() error { return nil }
	var file *prove.File
	if v.replay != "" {
		if file, err = prove.ReadFile(v.replay); err != nil {
			return nil, options, stop, err
		}
		if v.target, err = v.consent(file); err != nil {
			return nil, options, stop, err
		}
	}
	v.target.Kustomize = kustomize.BuildDirectory
	if options, err = v.target.Load(ctx, folder, progress.Update); err != nil {
		return nil, options, stop, err
	}
	release, err := v.cluster(ctx, &options, progress)
	if err != nil {
		return nil, options, stop, err
	}
	options.FailFast, options.Budget, options.Settle, options.Plans, options.Workers, options.Seed = v.failFast, v.budget, v.settle, v.plans, v.workers, v.seed
	options.Observe = progress.Update
	if file != nil {
		options.Seed, options.Settle = file.Seed, file.Settle
		found, err = prove.Replay(ctx, options, file)
	} else {
		found, err = prove.Prove(ctx, options)
	}
	return found, options, release, err
}

// cluster sets the cluster of the test, and returns a function that releases it.
func (v *proving) cluster(ctx context.Context, options *prove.Options, progress *report.Progress) (stop func() error, err error) {
	if v.kubeconfig == "" {
		progress.Update(report.Standing{Now: time.Now(), At: "starting a cluster"})
		options.Disposable = true
		options.Config, stop, err = prove.StartCluster(ctx, os.Stderr)
		return stop, err
	}
	var config *rest.Config
	config, err = clientcmd.BuildConfigFromFlags("", v.kubeconfig)
	options.Config = config
	return func() error { return nil }, err
}

// print prints the report.
func (v *proving) print(out io.Writer, found *report.Report, files []report.File) error {
	return v.output.print(out, forms{
		json: func(out io.Writer) error { return report.JSON(out, *found) },
		text: func(out io.Writer) error { return v.printText(out, found, files) },
	})
}

func (v *proving) printText(out io.Writer, found *report.Report, files []report.File) error {
	if v.role && found.Rights != nil {
		if _, err := io.WriteString(out, found.Rights.Needed); err != nil {
			return err
		}
		out = os.Stderr // so standard output contains only the Role and can be written to a file
	}
	return report.Text(out, *found, lookOf(os.Stdout)(), files...)
}

// lookOf returns a function that returns the look of output to a file: colored and as wide as the terminal, or plain.
func lookOf(file *os.File) func() report.Look {
	return func() report.Look {
		width, _, err := term.GetSize(int(file.Fd()))
		if err != nil {
			width = 0 // the file is not a terminal
		}
		return report.Look{Colour: colored(file), Width: width}
	}
}

// unproven returns the error for an operator that could not be tested.
func unproven(err error) error {
	if err == nil {
		return nil
	}
	return exitError{code: exitFailed, err: err}
}
