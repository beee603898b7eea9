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
		log, err := os.Open(facts.Log)
		if err != nil {
			return err
		}
		defer log.Close()
		if _, err := io.Copy(command.OutOrStdout(), log); err != nil || !*follow {
			return err
		}
		return followLog(command.Context(), command.OutOrStdout(), log)
	}
	return command
}

// followLog copies the text that is appended to log until ctx ends.
func followLog(ctx context.Context, w io.Writer, log io.Reader) error {
	ticker := time.NewTicker(timing.followPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if _, err := io.Copy(w, log); err != nil {
				return err
			}
		}
	}
}
