package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/cluster/internal/instance"
)

// format is how facts are printed.
type format string

const (
	formatText format = ""
	formatJSON format = "json"
)

// String, Set and Type make format a flag value.
func (f *format) String() string { return string(*f) }

func (f *format) Type() string { return "json" }

func (f *format) Set(value string) error {
	if format(value) != formatJSON {
		return fmt.Errorf("want json, or omit -o for text")
	}
	*f = formatJSON
	return nil
}

// outputFlag adds -o.
func outputFlag(command *cobra.Command) *format {
	var f format
	command.Flags().VarP(&f, "output", "o", "output format for programs: json")
	return &f
}

func printJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

func printFacts(w io.Writer, facts instance.Facts) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name string, value any) { fmt.Fprintf(table, "%s\t%v\n", name, value) }
	row("name", facts.Name)
	row("state", facts.State)
	if facts.State == instance.Running {
		row("server", facts.Server)
		row("version", facts.Version)
		row("nodes", fmt.Sprintf("%d, simulated", facts.Nodes))
		if facts.Registry != "" {
			row("registry", facts.Registry)
		}
		row("up for", age(facts.StartedAt))
		row("kubeconfig", facts.Kubeconfig)
		row("process", facts.PID)
	}
	if facts.Data != "" {
		row("data", facts.Data)
	}
	if facts.TTL != "" {
		row("stops when idle for", facts.TTL)
	}
	row("log", facts.Log)
	return table.Flush()
}

func age(since time.Time) string { return time.Since(since).Round(time.Second).String() }
