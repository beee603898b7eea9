package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/operon-framework/operon/cluster/internal/instance"
)

// Every command that prints facts has the same flag -o, and each format prints something different.
func TestOutput(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"text": "as text", "json": "{\n  \"name\": \"dev\"\n}\n", "yaml": "name: dev\n", "name": "cluster/dev\n",
	} {
		var out bytes.Buffer
		command := &cobra.Command{}
		output := outputFlag(command, "the facts", formatName)
		if err := command.ParseFlags([]string{"-o", format}); err != nil {
			t.Fatal(err)
		}
		text := func() error { _, err := out.WriteString("as text"); return err }
		if err := output.print(&out, map[string]string{"name": "dev"}, text, "cluster", "dev"); err != nil || out.String() != want {
			t.Errorf("-o %s: %v, %q, want %q", format, err, out.String(), want)
		}
	}
	command := &cobra.Command{}
	outputFlag(command, "the variables")
	if err := command.ParseFlags([]string{"-o", "name"}); err == nil || !strings.Contains(err.Error(), "want text, json or yaml") {
		t.Error(err)
	}
}

// The text names the kind of the nodes.
func TestOutputOfNodes(t *testing.T) {
	t.Parallel()
	for want, facts := range map[string]instance.Facts{
		"nodes       2, simulated\n":                   {Node: instance.Simulated, Nodes: 2},
		"nodes       1 with containers, 2 simulated\n": {Node: instance.Container, Nodes: 2},
	} {
		facts.State = instance.Running
		var out bytes.Buffer
		if err := printFacts(&out, facts); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%v, want %q in:\n%s", err, want, out.String())
		}
	}
}
