package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/operon-framework/operon/internal/prove/report"
	"github.com/operon-framework/operon/prove"
)

// Exit codes of prove: findings, and a test that could not be made.
const (
	exitFindings = 1
	exitUnproven = 2
)

// proving is what the verb is told.
type proving struct {
	target         prove.Target
	budget         time.Duration
	plans, workers int
	seed           int64
	replay, out    string
	output         string
	kubeconfig     string
	role           bool
	trustFile      bool
}

func newProve() *cobra.Command {
	v := &proving{}
	rbac := ""
	command := &cobra.Command{
		Use:   "prove [DIR]",
		Short: "Find an operator's reliability bugs by letting things go wrong",
		Long: `Find the reliability bugs of the operator in DIR (by default the current folder), or of
one that --run starts, in any language.

A Kubernetes of its own is started, and the operator run there without faults, to learn
what it does. Then it is run again and again, and each time something else goes wrong
that Kubernetes may let go wrong: it is killed between two writes, its writes are answered
with conflicts and time-outs, what it sees is out of date, its pods fail, its fields are
changed. Each time it has to come to the same end, leave nothing behind, and be silent.

What does not hold is run once more before it is reported, with a file that repeats it.
The exit code is 0 where everything held, 1 where something did not, and 2 where the
operator could not be tested.`,
		Example: `  operon prove examples/memcached
  operon prove --budget 10m --plans 1000
  operon prove --run './my-operator --port {port}' --crds crds/ --samples samples/ --rbac roles.yaml
  operon prove --rbac                     # print the smallest Role that the operator needs
  operon prove --replay operon-prove/plans/01-same-state.json`,
		Args: oneFolder,
	}
	set := command.Flags()
	set.StringVar(&v.target.Main, "main", "", "folder of the main package, where the project has several")
	set.StringVar(&v.target.Run, "run", "", "shell `COMMAND` that starts the operator; {port} becomes a free port, {namespace} the operator's namespace")
	set.StringVar(&v.target.CRDs, "crds", "", "file or folder of its CustomResourceDefinitions (default config/crd)")
	set.StringVar(&v.target.Samples, "samples", "", "file or folder of objects that it can deal with (default config/samples)")
	set.StringVar(&v.target.Setup, "setup", "", "file or folder of objects that have to be there before it starts")
	set.StringVar(&v.target.Steps, "steps", "", "file with workloads of your own")
	set.StringVar(&v.target.Namespace, "namespace", "", "the one namespace that it insists on; plans follow one another then")
	set.StringVar(&rbac, "rbac", "", "print the smallest Role that the operator needs; with --run, the file or folder of the Roles that it has")
	set.Lookup("rbac").NoOptDefVal = "-"
	set.DurationVar(&v.budget, "budget", prove.DefaultBudget, "how long to begin new plans")
	set.IntVar(&v.plans, "plans", prove.DefaultPlans, "how many plans at most")
	set.IntVar(&v.workers, "workers", 0, "how many plans at once (default twice the processors)")
	set.Int64Var(&v.seed, "seed", 1, "chooses between plans of equal promise")
	set.StringVar(&v.replay, "replay", "", "repeat the finding of a plan `FILE`")
	set.BoolVar(&v.trustFile, "trust-file", false, "with --replay: run the command, and read the paths, that the plan file names")
	set.StringVar(&v.out, "out", prove.Output, "folder for the reports")
	set.StringVarP(&v.output, "output", "o", "text", "what to print: text or json")
	set.StringVar(&v.kubeconfig, "kubeconfig", "", "kubeconfig of a cluster to use, instead of one that is started and thrown away; not one that anybody needs")
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := v.accept(args, rbac); err != nil {
			return err
		}
		return v.run(command.Context(), command.OutOrStdout())
	}
	return command
}

// accept takes the arguments, and refuses what does not go together.
func (v *proving) accept(args []string, rbac string) error {
	if rbac != "" {
		v.role = true
	}
	if rbac != "-" {
		v.target.RBAC = rbac
	}
	switch {
	case v.output != "text" && v.output != "json":
		return usageError{fmt.Errorf("-o %s: want text or json", v.output)}
	case v.trustFile && v.replay == "":
		return usageError{errors.New("--trust-file is for --replay")}
	case v.replay != "":
		return v.acceptReplay(args)
	case v.target.Run != "" && rbac == "-" && len(args) == 1:
		v.target.RBAC = args[0] // --rbac PATH: pflag takes a value that may be left out only after =
		return nil
	case v.target.Run != "" && len(args) > 0:
		return usageError{fmt.Errorf("--run starts the operator, so %q cannot be its project: leave one of them", args[0])}
	case v.target.Run != "" && v.target.Samples == "":
		return usageError{errors.New("--run needs --samples PATH: objects of the operator's kinds that it can deal with")}
	case v.plans < 1, v.budget <= 0, v.workers < 0:
		return usageError{errors.New("--plans and --budget have to be more than nothing, --workers not less")}
	case v.target.Run == "":
		v.target.Dir = folderOf(args)
	}
	return nil
}

// run tests, prints, and returns an error that carries the exit code.
func (v *proving) run(ctx context.Context, out io.Writer) (err error) {
	folder, remove, err := prove.Folder()
	if err != nil {
		return unproven(err)
	}
	defer func() { err = errors.Join(err, remove()) }()
	progress := report.NewProgress(os.Stderr, term.IsTerminal(int(os.Stderr.Fd())), lookOf(os.Stderr))
	defer progress.Close()
	found, options, err := v.test(ctx, folder, progress)
	progress.Close()
	if found == nil {
		return unproven(err)
	}
	files, writing := prove.Write(v.out, found, v.target, options)
	if err := errors.Join(err, writing, v.print(out, found, files)); err != nil {
		return unproven(err)
	}
	if len(found.Findings) > 0 {
		return exitError{code: exitFindings}
	}
	return nil
}

// test loads the operator, starts a cluster, and lets things go wrong there.
func (v *proving) test(ctx context.Context, folder string, progress *report.Progress) (*report.Report, prove.Options, error) {
	var file *prove.File
	if v.replay != "" {
		var err error
		if file, err = prove.ReadFile(v.replay); err != nil {
			return nil, prove.Options{}, err
		}
		if v.target, err = v.consent(file); err != nil {
			return nil, prove.Options{}, err
		}
	}
	options, err := v.target.Load(ctx, folder, progress.Update)
	if err != nil {
		return nil, options, err
	}
	stop, err := v.cluster(ctx, &options, progress)
	if err != nil {
		return nil, options, err
	}
	options.Budget, options.Plans, options.Workers, options.Seed = v.budget, v.plans, v.workers, v.seed
	options.Observe = progress.Update
	var found *report.Report
	if file != nil {
		options.Seed, options.Settle = file.Seed, file.Settle
		found, err = prove.Replay(ctx, options, file)
	} else {
		found, err = prove.Prove(ctx, options)
	}
	return found, options, errors.Join(err, stop())
}

// cluster finds the cluster, and returns what gives it back.
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

// print prints the verdict.
func (v *proving) print(out io.Writer, found *report.Report, files []report.File) error {
	if v.output == "json" {
		return report.JSON(out, *found)
	}
	if v.role && found.Rights != nil {
		if _, err := io.WriteString(out, found.Rights.Needed); err != nil {
			return err
		}
		out = os.Stderr // so that the Role alone can be put into a file
	}
	return report.Text(out, *found, lookOf(os.Stdout)(), files...)
}

// lookOf tells how a file wants to be written to: coloured and as wide as a terminal, or plainly.
func lookOf(file *os.File) func() report.Look {
	return func() report.Look {
		if !term.IsTerminal(int(file.Fd())) {
			return report.Look{}
		}
		width, _, err := term.GetSize(int(file.Fd()))
		if err != nil {
			width = 0
		}
		return report.Look{Colour: os.Getenv("NO_COLOR") == "", Width: width}
	}
}

// unproven is an operator that could not be tested.
func unproven(err error) error {
	if err == nil {
		return nil
	}
	return exitError{code: exitUnproven, err: err}
}
