package main

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/cluster/internal/instance"
)

func newLogs() *cobra.Command {
	command := &cobra.Command{
		Use:     "logs",
		Short:   "Print the log of a cluster's components",
		Example: `  operon cluster logs --follow`,
		Args:    noArguments,
	}
	name := nameFlag(command)
	follow := command.Flags().BoolP("follow", "f", false, "keep printing as the log grows")
	command.RunE = func(command *cobra.Command, _ []string) error {
		facts, err := instance.Status(*name)
		if err != nil {
			return err
		}
		return printLog(command.Context(), command.OutOrStdout(), facts.Log, *follow)
	}
	return command
}

// printLog prints a log. With follow, it also prints what is appended, until ctx ends or the log is removed: the cluster was
// stopped, or it crashed and is started again.
func printLog(ctx context.Context, w io.Writer, path string, follow bool) error {
	log, err := os.Open(path)
	if err != nil {
		return err
	}
	defer log.Close()
	ticker := time.NewTicker(timing.followPeriod)
	defer ticker.Stop()
	for {
		grows := follow && instance.InPlace(log, path) // before the copy, which is then complete
		if _, err := io.Copy(w, log); err != nil || !grows {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
