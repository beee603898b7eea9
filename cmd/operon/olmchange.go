package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/tools/olm"
	"github.com/operon-framework/operon/internal/tools/olm/change"
	"github.com/operon-framework/operon/internal/tools/olm/preview"
)

func newOLMApprove() *cobra.Command {
	target := olmTarget{}
	command := &cobra.Command{
		Use:   "approve INSTALLPLAN",
		Short: "Approve an InstallPlan",
		Long: `Approve an InstallPlan: the manager then writes its objects. "operon olm plan" prints them before.
The command does not wait; "operon olm upgrade" does.`,
		Example: `  operon olm approve install-502b0559 -n caches`,
		Args:    oneNamed("InstallPlan"),
	}
	target.addFlags(command)
	command.RunE = func(command *cobra.Command, args []string) error {
		state, err := target.read(command.Context())
		if err != nil {
			return err
		}
		plan, err := target.plan(state, args[0])
		if err != nil {
			return err
		}
		return target.approve(command, plan)
	}
	return command
}

// approve approves a plan and prints that.
func (t *olmTarget) approve(command *cobra.Command, plan *olm.InstallPlan) error {
	changed, err := change.Approve(command.Context(), t.client, plan)
	if err != nil {
		return err
	}
	text := "approved"
	if !changed {
		text = "was approved before"
	}
	_, err = fmt.Fprintf(command.OutOrStdout(), "InstallPlan %s/%s: %s %s\n", plan.Namespace, plan.Name, text, strings.Join(plan.Spec.ClusterServiceVersionNames, ", "))
	return err
}

func newOLMUpgrade() *cobra.Command {
	target, output, dryRun, timeout := olmTarget{}, output{}, false, time.Duration(0)
	command := &cobra.Command{
		Use:   "upgrade SUBSCRIPTION",
		Short: "Approve the next version of a Subscription, and wait until it runs",
		Long: `Approve the InstallPlan of the next version of a Subscription, and wait until the version runs and the one
before it is gone. The command prints what it waits for. With --dry-run, it prints what would change, as
"operon olm plan" does, and approves nothing.

Ctrl-C ends only the command: the manager continues with an upgrade that was approved.`,
		Example: `  operon olm upgrade memcached -n caches --dry-run
  operon olm upgrade memcached -n caches`,
		Args: oneNamed("Subscription"),
	}
	target.addFlags(command)
	command.Flags().BoolVar(&dryRun, "dry-run", false, "print what would change, and approve nothing")
	command.Flags().DurationVar(&timeout, "timeout", change.DefaultTimeout, "time limit of the upgrade")
	output.addFlag(command, "the changes, with --dry-run")
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := output.check(); err != nil {
			return err
		}
		if !dryRun && command.Flags().Changed("output") {
			return usageError{errors.New("--output needs --dry-run")}
		}
		state, err := target.read(command.Context())
		if err != nil {
			return err
		}
		of, plan, err := next(state, args[0])
		switch {
		case err != nil:
			return err
		case plan == nil:
			newest := fmt.Sprintf("%s is the newest version for Subscription %s/%s: nothing to approve\n", of.Status.InstalledCSV, of.Namespace, of.Name)
			nothing := &preview.Preview{Namespace: of.Namespace, CSVs: []string{}, Objects: []preview.Object{}, NewPermissions: []olm.Right{}, GonePermissions: []olm.Right{}, NewImages: []string{}, GoneImages: []string{}}
			return output.print(command.OutOrStdout(), forms{facts: nothing, text: func(w io.Writer) error {
				_, err := io.WriteString(w, newest)
				return err
			}})
		case dryRun:
			return target.preview(command, output, state, plan)
		}
		return target.upgrade(command, of, plan, timeout)
	}
	return command
}

// next returns a Subscription with the plan of its next version, or nil if it has none. It fails if something else holds the Subscription.
func next(state *olm.State, name string) (*olm.Subscription, *olm.InstallPlan, error) {
	of := state.Subscription(state.Namespace, name)
	if of == nil {
		_, err := state.Why(name)
		if err == nil {
			err = fmt.Errorf("%s is not a Subscription: `operon olm status` lists them", name)
		}
		return nil, nil, err
	}
	if ref := of.Status.InstallPlanRef; ref != nil {
		if plan := state.Plan(of.Namespace, ref.Name); plan != nil && plan.Status.Phase != olm.PlanComplete {
			return of, plan, nil
		}
	}
	answer, err := state.Why(name)
	if err == nil && !answer.Settled {
		err = fmt.Errorf("Subscription %s/%s has no plan: %s", of.Namespace, of.Name, answer.Why)
	}
	return of, nil, err
}

// upgrade approves a plan and waits until its version runs.
func (t *olmTarget) upgrade(command *cobra.Command, of *olm.Subscription, plan *olm.InstallPlan, timeout time.Duration) error {
	if err := t.approve(command, plan); err != nil {
		return err
	}
	version := of.Status.CurrentCSV
	ctx, cancel := context.WithTimeoutCause(command.Context(), timeout, fmt.Errorf("%s does not run after %s", version, timeout))
	defer cancel()
	if err := change.Await(ctx, t.client, of.Namespace, of.Name, version, func(line string) { fmt.Fprintln(progressTo(command.ErrOrStderr()), line) }); err != nil {
		return err
	}
	_, err := fmt.Fprintf(command.OutOrStdout(), "%s runs in %s\n", version, of.Namespace)
	return err
}

func newOLMRemove() *cobra.Command {
	target, output, how := olmTarget{}, output{}, removing{}
	command := &cobra.Command{
		Use:   "remove SUBSCRIPTION",
		Short: "Uninstall an operator",
		Long: `Uninstall the operator of a Subscription: the Subscription, its ClusterServiceVersion with all that it runs,
and dependencies that were installed for it and that no other operator of the namespace needs. The name
of a ClusterServiceVersion without a Subscription is accepted, too. If a ClusterExtension installed it, the
ClusterExtension is removed with it.

CRDs and custom resources stay. With --delete-crds, they are deleted after you typed the name on a
terminal, or with --yes: first the custom resources, while the operator still runs and can remove their
finalizers, then the operator, and then the CRDs. A CRD that another operator has or needs stays, and so
does one that was not installed from a bundle.`,
		Example: `  operon olm remove memcached -n caches --dry-run
  operon olm remove memcached -n caches
  operon olm remove memcached -n caches --delete-crds --yes`,
		Args: oneNamed("Subscription"),
	}
	target.addFlags(command)
	set := command.Flags()
	set.BoolVar(&how.definitions, "delete-crds", false, "delete the CRDs of the operator and all custom resources, too")
	set.BoolVar(&how.yes, "yes", false, "with --delete-crds: do not ask")
	set.BoolVar(&how.dryRun, "dry-run", false, "print what would be removed, and remove nothing")
	set.DurationVar(&how.timeout, "timeout", change.DefaultTimeout, "time limit of the removal")
	output.addFlag(command, "the result", formatName)
	command.RunE = func(command *cobra.Command, args []string) error {
		if err := output.check(); err != nil {
			return err
		}
		if err := target.connect(command.Context()); err != nil {
			return err
		}
		return target.remove(command, output, args[0], how)
	}
	return command
}

// removing are the flags of the command remove.
type removing struct {
	definitions, yes, dryRun bool
	timeout                  time.Duration
}

func (t *olmTarget) remove(command *cobra.Command, output output, name string, how removing) error {
	removal, err := change.Plan(command.Context(), t.client, t.namespace, name, how.definitions)
	if err != nil {
		return err
	}
	if err := removal.Check(); err != nil {
		return err
	}
	if removal.DryRun = how.dryRun; !how.dryRun {
		if err := confirmed(command, removal, how.yes); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeoutCause(command.Context(), how.timeout, fmt.Errorf("not done after %s", how.timeout))
		defer cancel()
		if err := removal.Run(ctx, t.client, func(line string) { fmt.Fprintln(progressTo(command.ErrOrStderr()), line) }); err != nil {
			return err
		}
	}
	return output.print(command.OutOrStdout(), forms{
		facts: removal, text: func(out io.Writer) error { return printRemoval(out, removal) }, names: nameLines(removal.Removed...),
	})
}

// confirmed asks for the name of the Subscription before CRDs and custom resources are deleted.
func confirmed(command *cobra.Command, removal *change.Removal, yes bool) error {
	if len(removal.Definitions()) == 0 || yes {
		return nil
	}
	if !onTerminal() {
		return usageError{errors.New("--delete-crds deletes custom resources: add --yes where nobody can be asked")}
	}
	fmt.Fprintf(command.ErrOrStderr(), "delete CRD %s and %s? This cannot be undone.\nType %s to delete them: ",
		strings.Join(removal.Definitions(), ", CRD "), plural.Count(removal.Resources(), "custom resource"), removal.Name)
	line, err := bufio.NewReader(command.InOrStdin()).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	if strings.TrimSpace(line) != removal.Name {
		return errors.New("nothing was removed, because the name was not typed")
	}
	return nil
}

func printRemoval(out io.Writer, removal *change.Removal) error {
	verb := "removed"
	if removal.DryRun {
		verb = "would remove"
	}
	var lines []string
	for _, one := range removal.Removed {
		if removal.DryRun {
			lines = append(lines, verb+" "+one)
		}
	}
	for _, one := range removal.Kept {
		lines = append(lines, "keeps "+one)
	}
	lines = append(lines, fmt.Sprintf("%s %s, kept %d", verb, plural.Count(len(removal.Removed), "object"), len(removal.Kept)))
	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
}
