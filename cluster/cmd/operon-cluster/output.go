package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/cluster/internal/instance"
)

// Formats of the flag -o.
const (
	formatText = "text"
	formatJSON = "json"
	formatYAML = "yaml"
	// formatName prints lines of the form kind/name.
	formatName = "name"
)

// output is the flag -o of a command that prints facts.
type output struct {
	format  string
	formats []string
}

// String, Set and Type implement pflag.Value.
func (o *output) String() string { return o.format }

func (o *output) Type() string { return "FORMAT" }

func (o *output) Set(format string) error {
	if !slices.Contains(o.formats, format) {
		return fmt.Errorf("want %s", o.list())
	}
	o.format = format
	return nil
}

// list returns the formats as a phrase.
func (o *output) list() string {
	last := len(o.formats) - 1
	return strings.Join(o.formats[:last], ", ") + " or " + o.formats[last]
}

// outputFlag adds -o. All commands have the formats text, json and yaml. others are additional formats.
func outputFlag(command *cobra.Command, of string, others ...string) *output {
	o := &output{format: formatText, formats: append([]string{formatText, formatJSON, formatYAML}, others...)}
	command.Flags().VarP(o, "output", "o", "`FORMAT` of "+of+": "+o.list())
	return o
}

// print prints facts in the format of the flag: with text, encoded, or as the names of objects of a kind.
func (o *output) print(out io.Writer, facts any, text func() error, kind string, names ...string) error {
	switch o.format {
	case formatJSON:
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(facts)
	case formatYAML:
		encoded, err := yaml.Marshal(facts)
		if err == nil {
			_, err = out.Write(encoded)
		}
		return err
	case formatName:
		for _, name := range names {
			fmt.Fprintf(out, "%s/%s\n", kind, name)
		}
		return nil
	}
	return text()
}

func printFacts(w io.Writer, facts instance.Facts) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name string, value any) { fmt.Fprintf(table, "%s\t%v\n", name, value) }
	row("name", facts.Name)
	row("state", facts.State)
	if facts.State == instance.Running {
		row("server", facts.Server)
		row("version", facts.Version)
		nodes := fmt.Sprintf("%d, simulated", facts.Nodes)
		if facts.Node == instance.Container {
			nodes = fmt.Sprintf("1 with containers, %d simulated", facts.Nodes)
		}
		row("nodes", nodes)
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
